#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Measures what a datagram costs that an echo answers, in zero-copy mode, in copy mode and by the kernel's sockets over
# the same NIC. The guest's clock counts instructions (lib_boot.sh). The cost is the time that a program of the lowest
# priority does not get: the time of driver, kernel, library, and peer. The peer is on the same processor, and the same
# in all three.
VM_NICS=${VM_NICS:-virtio} VM_SECONDS=${VM_SECONDS:-3000}
. "$(dirname "$0")/../lib.sh"
ROUNDS=3 COUNT=${VM_COUNT:-1000} SIZE=1400
mark() { echo "$(date +%s%N) $(od -An -t d8 -N 8 "$TMP/spare")"; } # prints the time, and the spare time until then
busy() { # mark before, mark after: ns
	echo $(($3 - $1 - ($4 - $2) * QUIET_NS / QUIET))
}
where_lost() {
	local h
	for h in a b; do
		say "$h: $($h ethtool -S "$(eval echo "\$DEV_${h^^}")" | grep -E 'drop|err|xdp|kicks' | grep -v ': 0$' | tr -s ' \n' ' ')"
		say "$h: InErrors $(udp_stat $h InErrors) RcvbufErrors $(udp_stat $h RcvbufErrors)"
	done
	# (The echo still runs, so its counters are there.)
	"$BUILD/sluice" stat --prometheus | grep -E '^[^#]*(drop|full|empty|invalid|bad|stale|no_frames|rx_pkts|tx_pkts|os_pkts)' | grep -v ' 0$'
}
# Sends 50 datagrams. True: all were answered, and by the library unless the way is the kernel's. (bind() may take the
# link down for seconds (igb); then answers go by the kernel until it knows the neighbour again, and it keeps no more
# than 92 of them.)
warm() { # way
	local was
	was=$(udp_stat b OutDatagrams)
	a "$BIN/steady" -i 1000 -n 50 -s $SIZE "$B4" 7000 "$TMP/steady"
	[ "$(cut -d' ' -f2 "$TMP/steady")" = 50 ] && { [ "$1" = kernel ] || [ "$(udp_stat b OutDatagrams)" = "$was" ]; }
}
cost() { # way: adds the time of COUNT datagrams and their answers to COST[way]
	local who=sb server was
	SL_ENV=(SLUICE_FRAME_SIZE=4096 SLUICE_RX_POLL=0 "SLUICE_ZEROCOPY=$1")
	[ "$1" != kernel ] || who=b
	bg $who "$BIN/echo" "$B4" 7000
	server=$BG
	wait_udp b 7000
	ok "$1: warm" wait_until 60 warm "$1"
	offload_begin
	was=$(mark)
	a "$BIN/steady" -i 500 -n "$COUNT" -s $SIZE "$B4" 7000 "$TMP/steady"
	COST[$1]=$((${COST[$1]:-0} + $(busy $was $(mark)))) # (words)
	same "$1: answers" "$COUNT" "$(cut -d' ' -f2 "$TMP/steady")"
	[ "$COUNT" = "$(cut -d' ' -f2 "$TMP/steady")" ] || where_lost
	[ "$1" = kernel ] || offload_end "$COUNT"
	stop "$server"
}
instructions() { # way: prints those of an answer
	echo $((COST[$1] / NS_INSTRUCTION / ROUNDS / COUNT))
}
NS_INSTRUCTION=2
declare -A COST
use 1
net_up
MODE=$(b ethtool -i "$DEV_B" | sed -n 's/^driver: //p')
bg a python3 "$VM_DIR/spare.py" "$TMP/spare"
ok "there is time to spare" wait_until 20 test -s "$TMP/spare"
sleep 1
read -r -a before < <(mark)
sleep 1
read -r -a after < <(mark)
QUIET_NS=$((after[0] - before[0])) QUIET=$((after[1] - before[1]))
for _ in $(seq $ROUNDS); do
	for way in kernel off force; do cost $way; done
done
for way in kernel off force; do say "$MODE: an answer takes $(instructions $way) instructions, $way"; done
ok "which is thousands" test "$(instructions kernel)" -gt 1000 -a "$(instructions force)" -gt 1000
ok "zero-copy takes fewer than copy mode" test "${COST[force]}" -lt "${COST[off]}"
kernel_quiet
done_testing
