#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Hop limits and flow labels of UDP datagrams, by the machine's settings.
MODES=${MODES:-oracle one}
MODES=${MODES/both/one} # host a looks at what comes: by its kernel
. "$(dirname "$0")/lib.sh"
net_up
b sysctl -qw net.ipv4.ip_default_ttl=77 "net.ipv6.conf.$DEV_B.hop_limit=88"
for to in "$A4" "$A6"; do b bash -c "echo >/dev/udp/$to/9"; done
for MODE in $MODES; do
	for labels in 0 1; do
		b sysctl -qw net.ipv6.auto_flowlabels=$labels
		rm -f "$TMP/seen"
		bg a python3 "$TESTS/net/udp_iph.py" see "$DEV_A" "$TMP/seen"
		wait_line "$TMP/seen" looking
		ok "$MODE: what it sends" pb python3 "$TESTS/net/udp_iph.py" send "$B4" "$B6" "$A4" "$A6"
		ok "$MODE: it comes" wait_end "$BG"
		differ "headers$labels" cat "$TMP/seen"
	done
done
done_testing
