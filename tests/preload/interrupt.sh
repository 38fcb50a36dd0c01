#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# A signal handler without SA_RESTART ends a call of ours that waits, at whatever instruction the signal comes.
. "$(dirname "$0")/../net/lib_tcp.sh"
P=$BUILD/tests/preload/interrupt
need "$P" python3
unsanitized "stepping through a sanitizer's code takes minutes"
[ "$(uname -m)" = x86_64 ] || skip "needs the trap flag of x86-64"
net_up
bg a python3 -c 'if 1:
	import socket, sys
	l, kept = socket.create_server((sys.argv[1], 7000)), []
	while True:
		kept.append(l.accept())' "$A4"
wait_tcp a 7000
meet
MODE=one
SL_ENV+=(SLUICE_RX_POLL=3)
segs=$(tcp_segs b)
if sb timeout 100 "$P" "$A4" 7000 "$B4" >"$TMP/out" 2>"$TMP/steps"; then
	pass "$(tr '\n' ' ' <"$TMP/steps")"
else
	fail "the program ended with $?: $(cat "$TMP/out" "$TMP/steps")"
fi
calls="recv accept epoll_wait"
[ -n "${SHORT:-}" ] || calls+=" datagram poll send"
for call in $calls; do
	ok "$call: no signal was in vain" file_has "$TMP/out" "$call: signals in vain: 0"
done
ok "b's kernel saw none of the segments" test "$(tcp_segs b)" -le $((segs + 20))
done_testing
