#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# The core of a program that dies has neither packet memory nor tables of connections: it is as small as on the kernel.
. "$(dirname "$0")/lib.sh"
unsanitized "a sanitizer writes no core"
[ "$(cat /proc/sys/kernel/core_pattern)" = core ] || { echo "skipped: core_pattern is not core"; exit 77; }
net_up
for MODE in kernel one; do
	mkdir "$TMP/core.$MODE"
	(
		ulimit -c unlimited
		pb bash -c 'cd "$1" && exec python3 -c "
import os, socket, sys
t = socket.socket()
t.bind((sys.argv[1], 7000))
t.listen()
u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
u.connect((sys.argv[2], 7001))
u.send(b\"x\")
os.abort()" "$2" "$3"' - "$TMP/core.$MODE" "$B4" "$A4"
	) >/dev/null 2>&1
	ok "there is a core" test "$(find "$TMP/core.$MODE" -type f | wc -l)" = 1
	if [ $MODE = kernel ]; then kernel=$(du -sk "$TMP/core.$MODE" | cut -f1); else ours=$(du -sk "$TMP/core.$MODE" | cut -f1); fi
done
ok "a core of $ours KB, by the kernel $kernel" test "$ours" -lt $((kernel + 16384))
done_testing
