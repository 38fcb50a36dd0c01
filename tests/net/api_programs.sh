#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# The programs of sluice-api(7) compile without a warning, have at most 40 lines, and do what the page says.
. "$(dirname "$0")/lib.sh"
PEER=$BUILD/tests/preload/peer
need "$PEER" "$BUILD/libsluice.so"
unsanitized "the programs are not sanitized"
net_up
MODE=one
PAGE=$(dirname "$0")/../../conf/sluice-api.7

# Writes each program of the page to a file of its name.
extract() {
	awk -v dir="$TMP" '
		$0 == ".EE" { file = "" }
		file != "" { gsub(/\\e/, "\\"); print > file }
		$0 == ".EX" { getline; name = $2; file = dir "/" name ".c"; gsub(/\\e/, "\\"); print > file }' "$PAGE"
}
short() { [ "$(wc -l <"$1")" -le 40 ]; }
prints() { # PROGRAM TEXT
	same "$1" "$2" "$(sb timeout 30 env -u LD_PRELOAD "$TMP/$1" "$A4" 7000)"
}

extract
bg a "$PEER" "$A4" 7000
wait_udp a 7000
same "the page's programs" "callback lane receive rules send stream write" "$(cd "$TMP" && echo *.c | sed 's/\.c//g')"
for c in "$TMP"/*.c; do
	ok "$(basename "$c") is short" short "$c"
	ok "$(basename "$c") compiles" gcc -Wall -Werror -I"$(dirname "$0")/../../lib" -o "${c%.c}" "$c" \
		-L"$BUILD" -lsluice -Wl,-rpath,"$(realpath "$BUILD")"
done
prints callback $'0\n2'
prints stream "hello"
prints receive "hello"
prints send "calls 0 to 0 are done, copied"
prints write $'hello 0\nhello 1'
prints lane "7: hello"
prints rules $'use os udp_connect *:7000: the kernel\'s\nuse sluice udp_connect *:7000: ours'
done_testing
