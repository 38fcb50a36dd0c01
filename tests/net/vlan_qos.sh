#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# The priority in VLAN tags (PCP): by the device's egress-qos-map, from SO_PRIORITY, IP_TOS and their control messages, of UDP and
# TCP over both families, and when the map changes. The kernel is the oracle; a stand-in for a VLAN device maps the priority
# that the kernel gives its packets. With one tag and with two, each with the map of its device.
if [ -z "${VLANS:-}" ]; then
	rc=0
	for VLANS in 5 "100ad 5"; do
		echo "== VLAN $VLANS"
		VLANS=$VLANS bash "$0" || rc=$?
		[ $rc = 0 ] || exit $rc
	done
	exit 0
fi
MODES=${MODES:-kernel one}
MODES=${MODES/both/one} # host a looks at what comes
. "$(dirname "$0")/lib_tcp.sh"
need python3
net_up
OUTER=
if [ "$VLANS" != "${VLANS##* }" ]; then
	OUTER=${DEV_B%.*}
	vlan_qos b "$OUTER" 0:6 2:4 3:5 4:2 100:1
	[ -z "${STAND_IN:-}" ] || MODES=${MODES/kernel /} # (stand-ins lose the priority on the way to the outer one)
fi
# (The kernel sends while a neighbour is unknown.)
MAC=$(a ip -o link show "$DEV_A" | sed "s/.*ether //; s/ .*//")
for to in "$A4" "$A6"; do
	ip -n "${NS}b" neigh replace "$to" lladdr "$MAC" dev "$DEV_B" nud permanent
done
kernel_has() { [ -n "$(b ss -Htn state established)" ]; }
for MODE in $MODES; do
	rm -f "$TMP/go"
	vlan_qos b "$DEV_B" 0:1 2:3 3:2 4:5 6:7 100:6
	bg a python3 "$TESTS/net/vlan_qos.py" see "$LOW_A" "$A4" "$A6" >"$TMP/seen.$MODE"
	peer=$BG
	wait_line "$TMP/seen.$MODE" looking
	wait_tcp a 7002
	out=$(udp_stat b OutDatagrams)
	bg pb python3 "$TESTS/net/vlan_qos.py" send "$A4" "$A6" "$TMP/go" >"$TMP/sent.$MODE"
	subject=$BG
	ok "half of it is sent" wait_line "$TMP/sent.$MODE" half
	if [ "$MODE" != kernel ]; then
		ok "the VLAN device is offloaded" logged "$DEV_B: offloaded by"
		ok "TCP: not the kernel's" not kernel_has
		vlan_qos b "$DEV_B" 0:4 2:2 3:2 4:5 6:6 100:6
		ok "the change is seen" wait_until 10 logged "$DEV_B: 6 entries in its egress-qos-map"
	else
		vlan_qos b "$DEV_B" 0:4 2:2 3:2 4:5 6:6 100:6
	fi
	: >"$TMP/go"
	ok "the rest is sent" wait_end "$subject"
	ok "and seen" wait_end "$peer"
	out=$(($(udp_stat b OutDatagrams) - out))
	[ "$MODE" = kernel ] || same "datagrams by the kernel" 0 "$out"
	same "an accepted connection's priority" "accepted /4 0 accepted /6 0" "$(grep accepted "$TMP/sent.$MODE" | tr '\n' ' ' | sed 's/ $//')"
done
MODE=all
cat >"$TMP/want" <<'W'
accepted-later/4 4
accepted-later/6 4
accepted/4 1
accepted/6 1
class-of-one/6 1
class16/6 1
connected/4 6
connected/6 6
connected6/4 7
connected6/6 7
end 6
later/4 6
later/6 6
listens/4 7
listens/6 7
looking
plain/4 1
plain/6 1
prio-of-one/4 3
prio-of-one/6 3
prio-then-tos/4 7
prio100/4 6
prio100/6 6
prio3/4 2
prio3/6 2
prio5/4 0
prio5/6 0
stream-later/4 2
stream-later/6 2
stream-tos/4 3
stream-tos/6 3
stream/4 5
stream/6 5
syn/4 5
syn/6 5
synack/4 7
synack/6 7
tos-again/4 3
tos-of-one/4 7
tos-then-prio/4 5
tos16/4 7
tos184/4 5
tos2/4 1
tos24/4 5
tos8/4 3
W
if [ -n "$OUTER" ]; then # its map does not change
	awk 'BEGIN { late[4] = 6; late[2] = 4; late[6] = 0 }
		NF == 2 { $2 = (/later|^end/ ? late[$2] : $2 ? 7 - $2 : 0) " " $2 } { print }' "$TMP/want" >"$TMP/want2"
	mv "$TMP/want2" "$TMP/want"
fi
for f in "$TMP"/seen.*; do
	LC_ALL=C sort "$f" >"$f.sorted"
	ok "the tags: ${f##*.}" diff <(LC_ALL=C sort "$TMP/want") "$f.sorted"
done
done_testing
