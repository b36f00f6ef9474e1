# SPDX-License-Identifier: Apache-2.0
# Files that are none.
judge absent 3 E0701 absent.plan
judge folder 3 E0701 .
judge no_name 3 E0701 ''
judge endless 3 E0701 /dev/zero
judge null 1 E0107 /dev/null
judge name_too_long 3 E0701 "$(repeat 5000 x).plan"
judge odd_name 3 E0701 "$(printf 'a\nb\033[31m\377.plan')"
mkfifo pipe.plan
timeout 30 sh -c 'cat "$1" >pipe.plan' - "$here/base.plan" &
judge pipe 0 '' pipe.plan
wait
ln -s loop.plan loop.plan
judge loop 3 E0701 loop.plan
if [ "$(id -u)" -ne 0 ]; then
	cp "$here/base.plan" closed.plan
	chmod 0 closed.plan
	judge closed 3 E0701 closed.plan
fi
ran=$((ran + 1))
timeout 30 "$planc" check - </dev/zero >out 2>err
[ $? -eq 3 ] || {
	failed=$((failed + 1))
	echo 'FAILED endless standard input'
}
