# SPDX-License-Identifier: Apache-2.0
# Text that is no plan, or hardly one.
edit base 0 '' ''

: >empty.plan
judge empty 1 E0107 empty.plan
printf '\n\n' >blank.plan
judge blank 1 E0107 blank.plan
printf '// nothing\n' >comment.plan
judge comment 1 E0107 comment.plan
awk 'BEGIN {
	for (i = 0; i < 4096; i++) printf "%c", (i * 167 + int(i / 7) * 13) % 255 + 1
}' >binary.plan
judge binary 1 'E0101 E0102 E0103 E0104' binary.plan
printf 'plan x\0\nedition 1\n' >nul.plan
judge nul 1 E0103 nul.plan
printf '\357\273\277' >bom.plan
cat "$here/base.plan" >>bom.plan
judge bom 0 '' bom.plan

# line ends
sed 's/$/\r/' "$here/base.plan" >crlf.plan
judge crlf 0 '' crlf.plan
printf '%s' "$(cat "$here/base.plan")" >no_end.plan
judge no_end 0 '' no_end.plan
tr '\n' '\r' <"$here/base.plan" >cr.plan
judge cr 1 E0103 cr.plan
edit tabs 0 '' 's/^  /\t/'

# ten megabytes on one line: a name, a string, numbers, brackets, a comment
{
	printf 'plan '
	repeat 10000000 a
} >long_name.plan
judge long_name 1 'E0107 E0206' long_name.plan
{
	printf 'plan x\nedition 1\nlet a = "'
	repeat 10000000 a
} >long_string.plan
judge long_string 1 E0102 long_string.plan
{
	printf 'plan x\nedition 1\nlet a = ['
	repeat 2500000 '1, '
} >long_list.plan
judge long_list 1 E0104 long_list.plan
{
	cat "$here/base.plan"
	printf '// '
	repeat 10000000 '-'
} >long_comment.plan
judge long_comment 0 '' long_comment.plan
{
	printf 'plan x\nedition 1\nlet a = '
	repeat 10000000 7
} >long_number.plan
judge long_number 1 E0106 long_number.plan

# nothing closed
edit open_brace 1 E0104 '/^split/s/ }//'
edit open_all 1 E0104 's/[])}]//g'
edit open_string 1 E0102 '/data  /s/")/)/'
for bracket in '{' '(' '['; do
	{
		printf 'plan x\nedition 1\nlet a = '
		repeat 100000 "$bracket"
	} >deep.plan
	judge "deep $bracket" 1 E0108 deep.plan
done
{
	printf 'plan x\nedition 1\nlet a = '
	repeat 100000 '-'
	echo 1
} >deep_minus.plan
judge deep_minus 1 E0108 deep_minus.plan
{
	cat "$here/base.plan"
	printf 'let a = 1'
	repeat 20000 ' + 1'
	echo
} >deep_sum.plan
judge deep_sum 1 E0108 deep_sum.plan
{
	cat "$here/base.plan"
	repeat 100000 '}'
} >closers.plan
judge closers 1 E0104 closers.plan

# a lot of everything
{
	cat "$here/base.plan"
	awk 'BEGIN { for (i = 0; i < 5000; i++) print "param p" i " : count = " i }'
} >params.plan
judge params 0 '' -A unused params.plan
{
	cat "$here/base.plan"
	awk 'BEGIN {
		for (i = 0; i < 3000; i++) print "let a" i " = a" i + 1
		print "let a3000 = 1"
	}'
} >chain.plan
judge chain 1 E0108 -A unused chain.plan
edit settings 1 E0202 "/^  steps/{$(repeat 2000 'p;')}"
{
	sed '/^train/q' "$here/base.plan"
	awk 'BEGIN { for (i = 0; i < 5000; i++) print "  s" i " = " i }'
	sed '1,/^train/d' "$here/base.plan"
} >unknown_settings.plan
judge unknown_settings 1 E0201 unknown_settings.plan
