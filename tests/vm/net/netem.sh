#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# A second opinion to our own lossy wire (tests/net/wire.c): the kernel's netem loses, delays, reorders,
# doubles and damages what goes both ways, on the peer's side. Datagrams with their answers and a
# connection's bytes are checked, by the kernel's sockets, too: what is missing netem has dropped.
VM_NICS=${VM_NICS:-virtio} VM_SECONDS=${VM_SECONDS:-2000}
. "$(dirname "$0")/../lib.sh"
COUNT=${VM_COUNT:-500} BYTES=400000
modprobe -a sch_netem ifb act_mirred cls_matchall sch_ingress || skip "the guest's kernel has no netem"

# A qdisc handles a device's incoming packets only through an ifb.
netem_begin() {
	a ip link add back type ifb && a ip link set back up &&
		a tc qdisc add dev "$DEV_A" ingress &&
		a tc filter add dev "$DEV_A" ingress matchall action mirred egress redirect dev back
}
netem() { # its options
	a tc qdisc add dev "$DEV_A" root netem limit 5000 "$@" && a tc qdisc add dev back root netem limit 5000 "$@"
}
netem_end() {
	a tc qdisc del dev "$DEV_A" root && a tc qdisc del dev back root
}
dropped() {
	{ a tc -s qdisc show dev "$DEV_A" root && a tc -s qdisc show dev back root; } |
		awk '$1 == "Sent" { sub(",", "", $7); n += $7 } END { print n + 0 }'
}
up_ms() { awk '{ print int($1 * 1000) }' /proc/uptime; }
datagrams() { # WHAT CHECK
	local server lost sent answered doubled wrong
	bg pb "$BIN/echo" "$B4" 7000
	server=$BG
	wait_udp b 7000
	a "$BIN/steady" -n 100 "$B4" 7000 "$TMP/steady" # (the socket may be bound before it is offloaded)
	offload_begin
	lost=$(dropped)
	a "$BIN/steady" -n "$COUNT" -s 1400 "$B4" 7000 "$TMP/steady"
	lost=$(($(dropped) - lost))
	read -r sent answered doubled wrong _ <"$TMP/steady"
	answered=$((answered - doubled))
	offload_end "$COUNT"
	stop "$server"
	same "$1: wrong answers" 0 "$wrong"
	case $2 in
	all) same "$1: answers" "$sent" "$answered" ;;
	lost) ok "$1: of $sent $answered are answered, $lost packets are lost" \
		test "$lost" -gt 0 -a "$answered" -lt "$sent" -a $((sent - answered)) -le "$lost" ;;
	# (With doubles the program has enough answers while the last one may still be on its way.)
	doubled) ok "$1: of $sent $answered are answered, $doubled twice" test "$answered" -ge $((sent - 1)) -a "$doubled" -gt 0 ;;
	damaged) ok "$1: of $sent $answered are answered" test "$answered" -lt "$sent" -a "$answered" -gt $((sent / 2)) ;;
	esac
}
stream() { # WHAT
	local began by=1
	[ "$MODE" = kernel ] || by=0
	began=$(up_ms)
	ok "$1: a connection's bytes" pb timeout 300 python3 "$VM_DIR/bytes.py" ask "$A4" 7001 $BYTES "$TMP/asked"
	say "$1: [$MODE] $BYTES bytes there and back in $(($(up_ms) - began)) ms"
	same "$1: whose connection" "$BYTES $by" "$(cat "$TMP/asked")"
}
wire() { # WHAT CHECK OPTIONS...
	local what=$1 check=$2
	shift 2
	netem "$@" || die "netem does not take $*"
	datagrams "$what" "$check"
	stream "$what"
	netem_end
}
use 1
net_up
SL_ENV=(SLUICE_FRAME_SIZE=4096)
bg a python3 "$VM_DIR/bytes.py" serve "$A4" 7001
wait_tcp a 7001
netem_begin || die "no way through an ifb"
for MODE in ${MODES/ both/}; do
	wire loss lost loss 3%
	wire "loss in bursts" lost loss gemodel 1% 25%
	wire jitter all delay 5ms 2ms
	wire reordering all delay 3ms reorder 30% 50%
	wire doubles doubled duplicate 3%
	wire damage damaged corrupt 3%
	wire "a slow link" all rate 20mbit
	wire "all of it" damaged delay 2ms 1ms loss 1% duplicate 1% corrupt 1% reorder 10%
done
kernel_quiet
done_testing
