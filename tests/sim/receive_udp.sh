#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# SLUICE_RX_BACKEND=verbs on the simulated NIC: preloaded programs receive UDP by a queue pair to which rules of the
# NIC bring what their sockets claim, without XDP and tc; what the NIC refuses stays with the kernel; nothing is left
# behind by a program that is killed.
VERBS=1
. "$(dirname "$0")/lib.sh"
net_up
MODE=simulated
SIM=$TMP/nic.a
BIN=$BUILD/tests/net
SL_ENV=(SLUICE_RX_BACKEND=verbs)
RECEIVE=$TESTS/sim/receive.py

fresh() { rm -f "$TMP"/sluice.*.log "$SIM"/control.* "$TMP/answers"; }
# Prints a figure of the NIC of the program that runs on host a.
figure() { nic_control a stat | sed -n "s/^$1 //p"; }
programs() { a bpftool net show dev "$DEV_A" 2>/dev/null | grep -c 'simulated_nic'; }
kernel_got() { udp_stat a InDatagrams; }

# Every datagram is answered; the kernel sees those alone that came before the first call.
BOTH=("$A4" "$A6")
[ -z "${SHORT:-}" ] || BOTH=("$A4")
for addr in "${BOTH[@]}"; do
	bg sa "$BIN/echo" "$addr" 7000
	ECHO=$BG
	wait_udp a 7000
	# (The first ones start the library. While the model takes a port from the kernel some are lost.)
	b "$BIN/steady" -n 60 "$addr" 7000 "$TMP/answers"
	BEFORE=$(kernel_got) IN=$(figure received)
	b "$BIN/steady" -n 500 "$addr" 7000 "$TMP/answers"
	same "$addr: all are answered, once" "500 500 0 0 0" "$(cut -d' ' -f1-5 "$TMP/answers")"
	same "$addr: all came by the queue, none by the kernel" "500 0" \
		"$(($(figure received) - IN)) $(($(kernel_got) - BEFORE))"
	same "$addr: nothing was dropped" 0 "$(figure out_of_buffer)"
	ok "$addr: the log says so" logged 'receives on .* by verbs (simulated0, .*read directly'
	same "$addr: no XDP" "" "$(a ip -d link show "$DEV_A" | grep -o 'prog/xdp')"
	same "$addr: one rule" 1 "$(figure rules)"
	same "$addr: doorbells as the record says" 0 "$(figure bells_wrong)"
	# Killed: its rule is gone with it, and the kernel serves the next program.
	kill -9 "$(pgrep -P "$ECHO" -x echo || echo "$ECHO")"
	wait "$ECHO" 2>/dev/null
	same "$addr: no rule is left" 0 "$(programs)"
	fresh
done
bg a "$BIN/echo" "$A4" 7000
ECHO=$BG
wait_udp a 7000
b "$BIN/steady" -n 50 "$A4" 7000 "$TMP/answers"
same "the kernel's program is reached" "50 50 0 0 0" "$(cut -d' ' -f1-5 "$TMP/answers")"
stop "$ECHO"
fresh

# An address for all: a rule for each of the host's, also for one that comes later.
bg sa "$BIN/echo" 0.0.0.0 7000
ECHO=$BG
wait_udp a 7000
b "$BIN/steady" -n 50 "$A4" 7000 "$TMP/answers"
wait_until 5 eval "[ \"\$(figure rules)\" -gt 0 ]"
RULES=$(figure rules)
a ip addr add "${NET4}.77/24" dev "$DEV_A"
ok "an address more, a rule more" wait_until 5 eval "[ \"\$(figure rules)\" -gt $RULES ]"
BEFORE=$(figure received)
b "$BIN/steady" -n 50 "$NET4.77" 7000 "$TMP/answers"
same "the new address is answered" "50 50 0 0 0" "$(cut -d' ' -f1-5 "$TMP/answers")"
ok "by the queue" test $(($(figure received) - BEFORE)) -ge 45
a ip addr del "${NET4}.77/24" dev "$DEV_A"
ok "an address less, a rule less" wait_until 5 eval "[ \"\$(figure rules)\" -eq $RULES ]"
stop "$ECHO"
fresh

# A rule that does not fit, or that the NIC does not know: the kernel has the socket, and the log says why, once.
refused() { # what, options, log
	SIM_OPTIONS=$2
	bg sa "$BIN/echo" "$A4" 7000
	ECHO=$BG
	wait_udp a 7000
	b "$BIN/steady" -n 60 "$A4" 7000 "$TMP/answers"
	same "$1: all are answered" "60 60 0 0 0" "$(cut -d' ' -f1-5 "$TMP/answers")"
	same "$1: nothing by the queue" 0 "$(figure received)"
	same "$1: the log says so once" 1 "$(cat "$TMP"/sluice.*.log | grep -c "$3")"
	stop "$ECHO"
	fresh
}
refused "no room" flows=0 "the NIC has no room for more rules"
[ -z "${SHORT:-}" ] || done_testing
# libibverbs reads and fills the queue, more packets than it has places.
SIM_OPTIONS=
SL_ENV+=(SLUICE_TX_REQUESTS=ibv)
bg sa "$BIN/echo" "$A4" 7000
ECHO=$BG
wait_udp a 7000
b "$BIN/steady" -n 60 "$A4" 7000 "$TMP/answers"
BEFORE=$(kernel_got)
b "$BIN/steady" -n 5000 "$A4" 7000 "$TMP/answers"
same "by libibverbs: all are answered, once" "5000 5000 0 0 0" "$(cut -d' ' -f1-5 "$TMP/answers")"
same "by libibverbs: none by the kernel" 0 "$(($(kernel_got) - BEFORE))"
ok "by libibverbs: the log says so" logged 'by verbs (simulated0, [0-9]* buffers)'
stop "$ECHO"
fresh
SL_ENV=(SLUICE_RX_BACKEND=verbs)
refused "no tags" refuse=8 "the NIC does not know such a rule"
# Without the right to raw packets, and without the library, it is as with auto.
SIM_OPTIONS=deny_raw=1
bg sa "$BIN/echo" "$A4" 7000
ECHO=$BG
wait_udp a 7000
b "$BIN/steady" -n 60 "$A4" 7000 "$TMP/answers"
same "no right: all are answered" "60 60 0 0 0" "$(cut -d' ' -f1-5 "$TMP/answers")"
ok "no right: the log says so" logged 'not by verbs (no right to raw packets'
stop "$ECHO"
fresh
SIM_OPTIONS=

# A program that reads nothing for long: its queue drops and counts, and what it has is in order.
mkfifo "$TMP/go"
exec 7<>"$TMP/go"
SL_ENV=(SLUICE_RX_BACKEND=verbs SLUICE_RX_WRE=64)
nic_stall() { nic_control a "stall $1" >/dev/null; }
# Prints what the library has counted as dropped for lack of buffers.
shown() {
	a "$BUILD/sluice" stat -p "$SLOW" --json 2>/dev/null |
		python3 -c 'import json, sys; print(json.load(sys.stdin)["ports"][0]["xsk_rx_ring_full"])' 2>/dev/null
}
bg sa python3 "$RECEIVE" slow "$A4" 7001 <"$TMP/go" >"$TMP/slow"
SLOW=$BG
wait_line "$TMP/slow" ready
nic_stall 1
b python3 "$RECEIVE" flood "$A4" 7001 300
ok "a queue that stood still: the NIC counts" wait_until 5 eval '[ "$(figure out_of_buffer)" = 300 ]'
ok "a queue that stood still: sluice stat shows it" wait_until 8 eval '[ "$(shown)" = 300 ]'
nic_stall 0
b python3 "$RECEIVE" flood "$A4" 7001 20
echo >&7
ok "a queue that stood still: the program ends" wait_end "$SLOW" 20
same "a queue that stood still: what came later is there" "got 20 last 19" "$(tail -1 "$TMP/slow")"
fresh

# Stamps of the (simulated) hardware, in system time and in the PHC's.
for how in system ptp; do
	SL_ENV=(SLUICE_RX_BACKEND=verbs "SLUICE_HW_TS_CONVERSION=$how")
	bg sa python3 "$RECEIVE" stamps "$A4" 7002 60 >"$TMP/stamps"
	STAMPS=$BG
	wait_line "$TMP/stamps" ready
	for _ in {1..60}; do echo; done | b python3 -c "
import socket, sys, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.settimeout(0.5)
for line in sys.stdin:
    for _ in range(50): # (one may be lost while the model takes the port from the kernel)
        s.sendto(str(time.time_ns()).encode(), ('$A4', 7002))
        try:
            s.recv(2000)
            break
        except TimeoutError:
            pass"
	ok "stamps, $how: the program ends" wait_end "$STAMPS" 20
	HW=$(awk '$2 != "none" && $2 != "" { n++; if ($2 < 0) bad++; if ($2 > most) most = $2 } END { print n + 0, bad + 0, most + 0 }' "$TMP/stamps")
	read -r N BAD MOST <<<"$HW"
	ok "stamps, $how: $N of 60 by hardware" test "$N" -ge 40
	ok "stamps, $how: after the send ($BAD before), at most $MOST us" test "$BAD" = 0 -a "$MOST" -lt 200000
	fresh
done

# A child gets its datagrams by the kernel, the parent goes on.
SL_ENV=(SLUICE_RX_BACKEND=verbs)
bg sa python3 "$RECEIVE" fork "$A4" 7003 >"$TMP/fork"
FORK=$BG
wait_line "$TMP/fork" ready
for who in before child parent; do
	same "fork: $who" "$who" "$(b python3 "$RECEIVE" ask "$A4" 7003)"
	sleep 0.3
done
ok "fork: the program ends" wait_end "$FORK" 20
same "fork: no rule is left" 0 "$(programs)"
fresh

# The device is deleted: the program's sockets that listened for ICMP errors there go with it.
raw_sockets() { a cat /proc/net/raw /proc/net/raw6 | grep -c '^ *[0-9]*:'; }
bg sa "$BIN/echo" "$A4" 7000
wait_udp a 7000
b "$BIN/steady" -n 60 "$A4" 7000 "$TMP/answers"
same "raw sockets, of IPv4 and IPv6" 2 "$(raw_sockets)"
a ip link del "$DEV_A"
ok "the device is deleted: they are closed" wait_until 10 eval '[ "$(raw_sockets)" = 0 ]'
done_testing
