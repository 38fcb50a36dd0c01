#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# A program becomes another user, or gives up groups, capabilities or its root directory: its connections go on
# without a lost byte, and nothing of what it shared with others is mapped or open afterwards, nor has a thread of the
# library the rights of before. Calls that change nothing change nothing.
. "$(dirname "$0")/lib_tcp.sh"
need python3
net_up
meet
PORT=7500
drop() { # HOW EXPECTED
	PORT=$((PORT + 2))
	bg pb timeout 40 python3 "$TESTS/net/dropped.py" "$B4" $PORT "$1" >"$TMP/b" 2>&1
	subject=$BG
	wait_tcp b $PORT
	same "$1: the clients" "all is answered" "$(a timeout 40 python3 "$TESTS/net/dropped.py" ask "$B4" $PORT 2>&1 | tail -n 1)"
	ok "$1: the server ends" wait_end "$subject" 20
	same "$1: the server" "$2" "$(cat "$TMP/b")"
}
peer_is_kernels
for MODE in $MODES; do
	[ "$MODE" != kernel ] || CHANGES=setuid
	for how in ${CHANGES-setuid setresuid setreuid capset chroot syscall}; do
		drop "$how" "memory [] descriptors [] users 1 woken ['wake up']"
	done
	unset CHANGES
	[ "$MODE" = kernel ] || drop nothing "memory True threads 1 woken ['wake up']"
	# (Root can take any groups again at any time.)
	[ "$MODE" = kernel ] || [ -n "${LEASED:-}" ] || for how in setgroups initgroups; do
		drop $how "memory True threads 1 woken ['wake up']"
	done
done
if [ -n "${LEASED:-}" ]; then
	PORT=$((PORT + 2))
	bg pb timeout 60 python3 "$TESTS/net/dropped.py" "$B4" $PORT again >"$TMP/b" 2>&1
	subject=$BG
	wait_tcp b $PORT
	same "again: the clients" "all is answered" "$(a timeout 40 python3 "$TESTS/net/dropped.py" ask "$B4" $PORT 2>&1 | tail -n 1)"
	wait_line "$TMP/b" "then True"
	same "again: clients of what it is now" "all is answered" \
		"$(a timeout 40 python3 "$TESTS/net/dropped.py" again "$B4" $PORT 2>&1 | tail -n 1)"
	ok "again: the server ends" wait_end "$subject" 20
	same "again: nothing of the old lease, then a new one" "memory [] then True
served 5" "$(cat "$TMP/b")"
	ok "again: of the new user" file_has "$TMP/sluice.db.log" "process .* of user 65534"
fi
done_testing
