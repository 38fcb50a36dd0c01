#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Before Linux 6.4 nobody maps a ring that is bound, so the daemon lends a device's to one process at a time
# (lib/ctl/umem/ring.c; on a newer kernel SLUICE_LEND_ONCE makes it do so). That process is offloaded as usual: both
# protocols, lanes that come later, several queues, while a daemon dies and another comes. Others stay with the kernel,
# are told so, and get the device when the first has ended or was killed. A forked child stays sound.
RX=xdp # (the test looks at XDP programs and sockets)
. "$(dirname "$0")/lib_lease.sh"
need python3
ONE_LEASE=1
! lends_rings || export SLUICE_LEND_ONCE=1
lease_up -q 2
peer="python3 $TESTS/net/sluiced_restart.py"
field() { cut -d' ' -f"$2" "$1" 2>/dev/null || echo 0; }
more() { [ "$(field "$1" 2)" -ge "$2" ]; }
goes_on() { # what, file: 300 more come back
	ok "$1" wait_until 20 more "$2" $(($(field "$2" 2) + 300))
}
serve() { # port: starts a program; BG is its PID
	rm -f "$TMP"/sluice.[0-9]*.log
	SL_ENV=(SLUICE_RING_ALLOCATION_LOGIC_RX=socket)
	bg sb python3 "$TESTS/net/lease_once.py" "$B4" "$1"
	SL_ENV=()
	wait_udp b "$1"
	wait_tcp b "$1"
}
answers() { # what, port: by both protocols
	bg a "$BIN/steady" -i 1000 -n 200 "$B4" "$2" "$TMP/steady"
	ok "$1: UDP" wait_end "$BG" 30
	ok "$1: all of it" test "$(answered "$TMP/steady")" -ge 199
	rm -f "$TMP/stream"
	bg a $peer stream "$B4" "$2" "$TMP/stream"
	wait_until 20 more "$TMP/stream" 300 || fail "$1: no connection"
	kill "$BG"
	ok "$1: TCP" wait_end "$BG" 30
}
# Has the program open a socket a second, until one is offloaded: the library asks again for a refused device when a new
# socket comes. Sets PORT to that socket's port.
opens_until_offloaded() { # process, last port
	PORT=$2
	for _ in $(seq 30); do
		kill -USR1 "$1"
		PORT=$((PORT + 1))
		wait_udp b "$PORT"
		wait_until 1 has_claim "$PORT" || continue
		# (The first of this program's two sockets may have come too early.)
		kill -USR1 "$1"
		PORT=$((PORT + 1))
		wait_udp b "$PORT"
		wait_until 10 has_claim "$PORT"
		return
	done
	return 1
}
lanes_of() { daemon leases | awk -v p="$1" '$2 == p { print $6 }'; }
D=$(daemon_pid)

# A single program with more and more lanes.
serve 7000
first=$BG
ok "a program is offloaded" wait_until 10 has_claim 7000
offload_begin
answers "it" 7000
for port in 7001 7002 7003; do
	kill -USR1 "$first"
	wait_udp b $port
	wait_tcp b $port
	ok "so is its next lane" wait_until 10 has_claim $port
	answers "by that one" $port
done
same "none of it by the kernel" 0 $(($(udp_stat b InDatagrams) - K_IN))
daemon leases | sed 's/^/  /'

# A second program.
serve 7010
second=$BG
ok "another is told why it stays with the kernel" \
	wait_until 10 file_has <(cat "$TMP"/sluice.[0-9]*.log) "process $first (python3) has the queues of $DEV_B: .*one process at a time"
answers "by the kernel it works" 7010
ok "it has no claim" not has_claim 7010
ok "the list of devices has it" file_has <(daemon ports) "^$DEV_B .*kernel for 1 others"

# The first one forks, and goes on.
kill -USR2 "$first"
wait_udp b 7104
wait_tcp b 7104
answers "a child is sound" 7104
ok "and with the kernel" not has_claim 7104
child=$(pgrep -P "$first" -f lease_once)
offload_begin
answers "the parent goes on" 7002
same "offloaded" 0 $(($(udp_stat b InDatagrams) - K_IN))
stop "$child"

# The daemon dies, and another comes.
bg a "$BIN/steady" -i 1000 "$B4" 7000 "$TMP/udp"
steady=$BG
bg a $peer stream "$B4" 7001 "$TMP/tcp"
stream=$BG
goes_on "there is traffic" "$TMP/tcp"
offload_begin
for signal in 9 9 USR2; do
	kill -$signal "$(daemon_pid)"
	wait_until 10 gone "$D" || fail "the daemon does not end"
	goes_on "TCP without a daemon" "$TMP/tcp"
	daemon_up b "allow user *" && wait_until 10 daemon_answers || die "the daemon does not come back"
	D=$(daemon_pid)
	goes_on "TCP by the next daemon" "$TMP/tcp"
	goes_on "and UDP" "$TMP/udp"
done
kill -USR1 "$first"
wait_udp b 7005
ok "a lane can be had of it" wait_until 10 has_claim 7005
answers "which works" 7005
same "nothing came by the kernel" 0 $(($(udp_stat b InDatagrams) - K_IN))
ok "the other still has none" not has_claim 7010
kill "$steady" "$stream"
ok "no byte is wrong" wait_end "$stream" 30
wait_end "$steady" 30
read -r sent got doubled wrong failed _ <"$TMP/udp"
ok "no datagram is lost (sent $sent, answered $got)" test $((sent - got)) -le 1
same "none doubled, wrong or failed" "0 0 0" "$doubled $wrong $failed"

# The first one ends, by itself or killed: the next has the device.
next=$second at=7010
for signal in TERM 9; do
	kill -$signal "$first"
	wait "$first" 2>/dev/null
	ok "when the first has ended ($signal) the next is offloaded" opens_until_offloaded "$next" "$at"
	offload_begin
	answers "it" "$PORT"
	same "by its own rings" 0 $(($(udp_stat b InDatagrams) - K_IN))
	first=$next at=$((at + 50))
	serve "$at"
	next=$BG
	ok "another is told" wait_until 10 file_has <(cat "$TMP"/sluice.[0-9]*.log) "process $first .*one process at a time"
done
stop "$next" "$first"
ok "nothing is left" wait_until 20 leases_are 0

# A socket that is lent unbound can be bound to its own device only.
b ip link set lo up
same "an unbound socket cannot be bound to another device" kept "$(sb env -u LD_PRELOAD python3 \
	"$TESTS/net/lease_once_foreign.py" "$TMP/sluiced.b" "$(b ip -o link show "$DEV_B" | cut -d: -f1)")"
ok "that one ends, too" wait_until 20 leases_are 0
ok "of the device, neither" wait_until 10 not test -e "/sys/fs/bpf/sluice/$DEV_B"
done_testing
