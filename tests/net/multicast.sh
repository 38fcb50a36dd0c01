#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Multicast: join, leave, sources, several sockets, loop, TTL, device; and another program of the
# host in the same group.
. "$(dirname "$0")/lib.sh"
net_up
need python3
mcast_routes
for MODE in $MODES; do
	for fam in 4 6; do
		peer=A$fam own=B$fam
		[ $fam = 4 ] && groups="239.1.2.3 239.1.2.4" || groups="ff15::1:2 ff15::1:3"
		bg pa python3 "$TESTS/net/reflector.py" "${!peer}" 7000
		one=$BG
		bg a python3 "$TESTS/net/mcreflector.py" "$DEV_A" "${groups% *}" 7500 "${!peer}"
		two=$BG
		wait_udp a 7000
		wait_udp a 7500
		# shellcheck disable=SC2086
		differ multicast$fam pb python3 "$TESTS/net/mcast.py" "${!own}" "${!peer}" 7000 \
			"$DEV_B" $groups
		stop "$one" "$two"
	done

	# A version of IGMP that cannot tell routers of the sources.
	if [ "$MODE" = one ]; then
		rm -f "$TMP"/sluice.*.log
		b sysctl -qw "net.ipv4.conf.$DEV_B.force_igmp_version=2"
		for quiet in 0 1; do
			sb SLUICE_SUPPRESS_IGMP_WARNING=$quiet python3 -c '
import socket, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(("0.0.0.0", 7650))
s.setsockopt(0, 39, socket.inet_aton("232.1.1.1") + socket.inet_aton(sys.argv[1]) + socket.inet_aton(sys.argv[2]))' "$B4" "$A4"
			same "IGMPv2 and sources: warned, SUPPRESS_IGMP_WARNING=$quiet" $((1 - quiet)) \
				"$(cat "$TMP"/sluice.*.log | grep -c "held to IGMPv2")"
			rm -f "$TMP"/sluice.*.log
		done
		b sysctl -qw "net.ipv4.conf.$DEV_B.force_igmp_version=0"
	fi

	# Another program of the host in the group, before us and after us: nobody loses a packet.
	bg b python3 "$TESTS/net/mclisten.py" "$DEV_B" 239.7.7.7 7600 >"$TMP/before"
	before=$BG
	wait_line "$TMP/before" joined
	bg pb python3 "$TESTS/net/mclisten.py" "$DEV_B" 239.7.7.7 7600 >"$TMP/we"
	we=$BG
	wait_line "$TMP/we" joined
	bg b python3 "$TESTS/net/mclisten.py" "$DEV_B" 239.7.7.7 7600 >"$TMP/after"
	after=$BG
	wait_line "$TMP/after" joined
	# 200 fit into the buffer of a listener that gets no core meanwhile (2 cores, 5 programs).
	pa "$BUILD/tests/bench/udpblast" 239.7.7.7 7600 count=200 rate=5000 >/dev/null
	wait_until 5 eval '[ "$(udp_queued b 7600)" = 0 ]'
	stop "$before" "$we" "$after"
	same "the program that was there" 200 "$(tail -n 1 "$TMP/before")"
	same "ours" 200 "$(tail -n 1 "$TMP/we")"
	same "the program that came later" 200 "$(tail -n 1 "$TMP/after")"

	# We alone, and the device has changed since (a look at it brings claims anew): the program
	# that comes then loses nothing from the moment on at which we have seen it.
	rm -f "$TMP"/sluice.*.log
	bg pb python3 "$TESTS/net/mclisten.py" "$DEV_B" 239.7.7.7 7601 >"$TMP/we"
	we=$BG
	wait_line "$TMP/we" joined
	b ip link set dev "$DEV_B" alias "changed"
	pa "$BUILD/tests/bench/udpblast" 239.7.7.7 7601 count=100 rate=5000 >/dev/null
	wait_until 5 eval '[ "$(udp_queued b 7601)" = 0 ]'
	bg b python3 "$TESTS/net/mclisten.py" "$DEV_B" 239.7.7.7 7601 >"$TMP/after"
	after=$BG
	wait_line "$TMP/after" joined
	[ "$MODE" = kernel ] || wait_until 20 logged "port 7601 stays with the kernel: another program"
	pa "$BUILD/tests/bench/udpblast" 239.7.7.7 7601 count=100 rate=5000 >/dev/null
	wait_until 5 eval '[ "$(udp_queued b 7601)" = 0 ]'
	stop "$we" "$after"
	same "ours, alone and beside it" 200 "$(tail -n 1 "$TMP/we")"
	same "the program that came while we ran" 100 "$(tail -n 1 "$TMP/after")"
done
done_testing
