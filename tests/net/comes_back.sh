#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Sockets are offloaded again after an event on their device: connections of both directions, a listener, datagram
# sockets with and without a peer. Under checked traffic the link flaps, the device is deleted and made anew,
# somebody takes the XDP program off, and the device gets another queue; soon no packet passes through the kernel, and
# no byte was wrong. By the daemon, too (LEASED=1). ROUNDS of each of EVENTS: 1, back WITHIN 20 s.
. "$(dirname "$0")/lib.sh"
need python3
need_built
ROUNDS=${ROUNDS:-1} WITHIN=${WITHIN:-20} # seconds
EVENTS=${EVENTS:-flap remade$([ "${RX:-}" != xdp ] || echo " taken_off queue")}
case $EVENTS in
*queue*)
	need ethtool
	queues=$((2 + ROUNDS))
	;;
*) queues=2 ;;
esac
two_queues() { for d in a:$DEV_A b:$DEV_B; do [ $queues = 2 ] || "${d%%:*}" ethtool -L "${d#*:}" rx 2 tx 2; done; }
net_up -q $queues
two_queues
MODE=one
losses=0 # of the steering: the program logs each one before it opens the device anew
D=$TMP/back
mkdir -m 777 "$D"

settled() { HOW=$(b python3 "$TESTS/net/comes_back_look.py" "$BUILD/sluice" "$server" "$1" "$TMP/sluice.$server.log" "$losses"); }
all_move() { # every kind of socket carries more
	local f k
	for f in asks serves; do
		for k in stream datagrams; do
			read -r n <"$D/$f.$k" && wait_until 10 moved "$D/$f.$k" $((n + 5)) || { say "$f.$k stands at $n" && return 1; }
		done
	done
}
moved() { local n && read -r n <"$1" && [ "$n" -ge "$2" ]; }
remade() {
	ip -n "${NS}b" link del "$DEV_B"
	join a b "$DEV_A" "$DEV_B" $queues 1500
	two_queues
	addr_up a "$DEV_A" "$A4/24" "$A6/64"
	addr_up b "$DEV_B" "$B4/24" "$B6/64"
	wait_until 10 link_is_up b "$DEV_B"
}
taken_off() { losses=$((losses + 1)) && b ip link set dev "$DEV_B" xdp off; } # (Debian's bpftool does not know the links of a tc program)
queue() { losses=$((losses + 1)) && b ethtool -L "$DEV_B" rx $((2 + round)) tx $((2 + round)); } # (the kernel takes none away that has an XSK)
flap() {
	ip -n "${NS}b" link set "$DEV_B" down
	sleep 0.3
	ip -n "${NS}b" link set "$DEV_B" up
	ip -n "${NS}b" addr replace "$B6/64" dev "$DEV_B" nodad
	wait_until 10 link_is_up b "$DEV_B"
}
bg pa python3 "$TESTS/net/comes_back.py" "$A4" "$B4" "$D" serves >"$D/out.a"
peer=$BG
bg pb python3 "$TESTS/net/comes_back.py" "$B4" "$A4" "$D" asks >"$D/out.b"
server=$BG
for f in asks serves; do for k in stream datagrams; do wait_until 20 test -s "$D/$f.$k" || die "no traffic"; done; done
settled 10 || die "not offloaded: $HOW"
for event in $EVENTS; do
	most=0 done=0
	for round in $(seq "$ROUNDS"); do
		"$event" || { say "$event does not happen" && break; }
		settled "$WITHIN" || { say "round $round: $HOW" && break; }
		all_move || break
		[ "$HOW" -le $most ] || most=$HOW
		done=$round
	done
	same "$event: back each time, within $most ms" "$ROUNDS" "$done"
done
touch "$D/stop"
ok "every byte came right" wait_end "$server" 20
ok "at the peer, too" wait_end "$peer" 20
same "nothing was wrong" "all right all right" "$(cat "$D"/out.[ab] "$D"/*.wrong 2>/dev/null | tr '\n' ' ' | sed 's/ $//')"
done_testing
