# SPDX-License-Identifier: Apache-2.0
# Names that do not exist, that go in circles, or that mean something in C.

# unknown, with a near match
edit axis 1 E0203 's/over dp/over db/'
edit strategy 1 E0201 's/data over/dota over/'
edit block 1 E0201 's/^train/trian/'
edit setting 1 E0201 's/micro_batch/microbatch/'
edit device 1 E0204 's/cpu\.core/cpu.cores/'
edit family 1 E0204 's/arch\.llama/arch.lama/'
edit library 1 E0203 's/arch\.llama/arc.llama/'
edit size 1 'E0201 E0206' 's/  embed/  embde/'
edit word 1 E0209 's/= adamw/= adam/'
edit preset 1 E0209 's/= fp32/= fp31/'
edit member_of_nothing 1 E0208 's/devices\/cpu/devices\/cpus/'

# circles
edit own_let 1 E0205 '$s/$/\nlet a = a/'
edit let_circle 1 E0205 '$s/$/\nlet a = b\nlet b = a/'
edit param_circle 1 E0205 '$s/$/\nparam a : count = b\nparam b : count = a/'
edit size_circle 1 E0205 's/embed    = 16/embed = ffn/; s/ffn      = 24/ffn = embed/'

# imports
edit import_absent 1 E0208 's/^import cpu .*/&\nimport x from "no\/such.plan"/'
edit import_self 1 E0205 's/^import cpu .*/&\nimport x from "import_self.plan"/'
edit import_plan 1 E0208 's/^import cpu .*/&\nimport x from "base.plan"/'
mkdir -p folder
edit import_folder 3 E0701 's/^import cpu .*/&\nimport x from "folder"/'
printf 'library a\nedition 1\nimport b from "b.plan"\n' >a.plan
printf 'library b\nedition 1\nimport a from "a.plan"\n' >b.plan
edit import_circle 1 E0205 's/^import cpu .*/&\nimport a from "a.plan"/'
for i in $(seq 1 100); do
	printf 'library l%d\nedition 1\nimport n from "l%d.plan"\n' "$i" $((i + 1)) >"l$i.plan"
done
edit import_deep 1 E0108 's/^import cpu .*/&\nimport l from "l1.plan"/'
edit extends_self 1 E0205 's/^plan base/plan extends_self extends "extends_self.plan"/'
edit extends_absent 1 E0208 's/^plan base/plan base extends "absent.plan"/'

# names that no path can hold, names that C keeps for itself
edit plan_slash 1 E0101 's/^plan base/plan a\/b/'
edit plan_dots 1 'E0101' 's/^plan base/plan ..\/x/'
edit plan_string 1 'E0101' 's/^plan base/plan "x y"/'
edit plan_long 0 '' "s/^plan base/plan $(repeat 5000 x)/"
edit plan_keyword 0 '' 's/^plan base/plan while/'
