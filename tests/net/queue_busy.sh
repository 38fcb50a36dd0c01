#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# The kernel gives a device's queue back some time after its last socket was closed: a program or daemon that takes the
# device into use meanwhile waits for it, and the daemon serves others all the while. A queue that is not given back
# stays with its owner, and the log says so.
. "$(dirname "$0")/lib_lease.sh"
need python3
LEASED=
net_up
need_built
MODE=one
hold() { # seconds
	rm -f "$TMP/hold"
	bg b python3 "$TESTS/net/queue_busy.py" hold "$DEV_B" "$1" >"$TMP/hold"
	HOLD=$BG
	wait_line "$TMP/hold" bound
}
takes_over() { # what
	hold 0.25
	bg sb "$BIN/echo" "$B4" 7000
	ok "$1: it waits for the queue, and is offloaded" wait_until 10 has_claim 7000
	stop "$BG"
	ok "$1: the device is released" wait_until 10 test ! -e "/sys/fs/bpf/sluice/$DEV_B"
}
takes_over alone
LEASED=1
daemon_up b
wait_until 10 daemon_answers || die "no daemon answers"
takes_over leased
slowest() { SLUICE_DAEMON=$TMP/sluiced.b python3 "$TESTS/net/queue_busy.py" ask 1.5 "$BUILD/sluice" daemon status; }
usual=$(slowest)
hold 30
bg sb "$BIN/echo" "$B4" 7000
slow=$(slowest)
ok "the daemon answers others meanwhile: in $slow ms at most, else in $usual" test "$slow" -lt $((usual + 300))
why="$DEV_B stays with the kernel.*another program has an AF_XDP socket"
ok "it is said that somebody has the queue" wait_until 10 eval 'cat "$TMP"/sluice.[0-9]*.log | grep -q "$why"'
ok "and it goes on by the kernel" wait_until 10 udp_bound b 7000
stop "$BG"
# A process that was refused asks again for its next sockets, in a second at first.
mkfifo "$TMP/next"
exec 8<>"$TMP/next"
bg sb python3 "$TESTS/net/queue_busy.py" sockets 7001 7002 <&8 >"$TMP/sockets"
wait_line "$TMP/sockets" "bound 7001"
ok "the first socket goes by the kernel" test ! -e "/sys/fs/bpf/sluice/$DEV_B"
stop "$HOLD"
sleep 1.1
echo >&8
wait_line "$TMP/sockets" "bound 7002"
ok "the device free, the next one is offloaded" wait_until 10 has_claim 7002
done_testing
