#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# A server bound to the wildcard address, on a host with several addresses; IPv4 on an IPv6 socket.
. "$(dirname "$0")/lib.sh"
net_up
need python3
ip -n "${NS}b" addr add "$NET4.22/24" dev "$DEV_B"
ip -n "${NS}b" addr add "$NET6::22/64" dev "$DEV_B" nodad
serve() { # address
	: >"$TMP/reflector"
	bg pb python3 "$TESTS/net/reflector.py" "$1" 7000 >"$TMP/reflector"
	wait_line "$TMP/reflector" ready
}
for MODE in $MODES; do
	serve 0.0.0.0
	offload_begin
	differ wildcard4 pa python3 "$TESTS/net/wild.py" 7000 "$B4" "$NET4.22"
	offload_end 40
	# An address that comes while the socket is there.
	ip -n "${NS}b" addr add "$NET4.33/24" dev "$DEV_B"
	differ wildcard4-new pa python3 "$TESTS/net/wild.py" 7000 "$NET4.33"
	ip -n "${NS}b" addr del "$NET4.33/24" dev "$DEV_B"
	stop "$BG"
	serve ::
	differ wildcard6 pa python3 "$TESTS/net/wild.py" 7000 "$B6" "$NET6::22"
	differ wildcard6-mapped pa python3 "$TESTS/net/wild.py" 7000 "$B4" "$NET4.22"
	stop "$BG"
	# Two families of one port beside each other.
	serve "$B4"
	one=$BG
	serve "$B6"
	two=$BG
	same "both are bound" 2 "$(b ss -Hanu "sport = :7000" | wc -l)"
	differ both-families pa python3 "$TESTS/net/wild.py" 7000 "$B4" "$B6" "$NET4.22"
	stop "$one" "$two"
done
done_testing
