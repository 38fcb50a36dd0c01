#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Checked streams under disturbance: a wire that loses, links that go down and up, neighbours that are forgotten,
# addresses and routes that come and go, XDP taken away, programs killed. SOAK_TCP_SECONDS: time for each mode (`make
# soak`: minutes; SOAK_SEED gives a seed).
. "$(dirname "$0")/lib_tcp.sh"
need python3
net_up -w
SECONDS_EACH=${SOAK_TCP_SECONDS:-12}
RANDOM=${SOAK_SEED:-$$}
export TCP_TEST_SECONDS=100000

nap() { sleep "0.$((RANDOM % 8 + 1))"; }
b_down() { # and up again, with its IPv6 address, which the kernel takes away with the link
	ip -n "${NS}b" link set "$DEV_B" down
	nap
	ip -n "${NS}b" link set "$DEV_B" up
	ip -n "${NS}b" addr replace "$B6/64" dev "$DEV_B" nodad
}
carrier() {
	ip -n "${NS}w" link set "$WIRE_B" down
	nap
	ip -n "${NS}w" link set "$WIRE_B" up
}
forget() { ip -n "${NS}b" neigh flush dev "$DEV_B"; }
address() {
	ip -n "${NS}b" addr add "$NET4.99/24" dev "$DEV_B"
	nap
	ip -n "${NS}b" addr del "$NET4.99/24" dev "$DEV_B"
}
route() {
	ip -n "${NS}b" route add blackhole "$A4" 2>/dev/null
	nap
	ip -n "${NS}b" route del blackhole "$A4"
}
xdp_off() { ip -n "${NS}b" link set dev "$DEV_B" xdp off 2>/dev/null; }
victim() {
	bg pb python3 "$TESTS/net/tcp_soak.py" client "${!peer}" 7000 100 >/dev/null 2>&1
	nap
	kill -9 "$BG"
	wait "$BG" 2>/dev/null
}
SHAKES=(b_down carrier forget address route xdp_off victim victim forget)

for MODE in $MODES; do
	[ "$MODE:${MODES/*one*/one}" = both:one ] && [ "$SECONDS_EACH" -lt 60 ] && continue
	for fam in ${FAMILIES:-4}; do
		peer=A$fam
		wire_up --loss 1% --reorder 1%/3 --seed 5
		bg pa python3 "$TESTS/net/tcp_soak.py" server "${!peer}" 7000
		server=$BG
		wait_tcp a 7000
		clients=()
		for i in 1 2 3; do
			bg pb python3 "$TESTS/net/tcp_soak.py" client "${!peer}" 7000 "$SECONDS_EACH" \
				>"$TMP/soak.$i" 2>&1
			clients+=("$BG")
		done
		end=$((SECONDS + SECONDS_EACH - 2)) said=
		while [ $SECONDS -lt $end ]; do
			shake=${SHAKES[RANDOM % ${#SHAKES[@]}]}
			case $said in *" $shake"*) ;; *) said+=" $shake" ;; esac
			$shake
			nap
		done
		for i in 1 2 3; do
			ok "client $i in IPv$fam, shaken by$said" wait_end "${clients[i - 1]}" 130
			cat "$TMP/soak.$i"
		done
		stop "$server"
		wire_down
	done
done
done_testing
