#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# openvpn over UDP with a static key: packets of a tunnel, and TCP through it.
. "$(dirname "$0")/lib.sh"
need openvpn ping python3
[ -e /dev/net/tun ] || skip "no tun devices"
net_up
openvpn --genkey secret "$TMP/key" 2>/dev/null
vpn() { # own name, own address, other address, options
	echo openvpn --dev "tun$1" --dev-type tun --ifconfig "$2" "$3" --secret "$TMP/key" --cipher AES-256-CBC --port 1194 \
		--proto udp --verb 1 "${@:4}"
}
server() {
	# shellcheck disable=SC2046 # words
	bg pb $(vpn z 10.99.0.2 10.99.0.1 --local "$B4")
	export CLIENT
	CLIENT=$(vpn z 10.99.0.1 10.99.0.2 --remote "$B4" --nobind)
}
talk() {
	$CLIENT >"$TMP/vpn.client" 2>&1 &
	local p=$! i
	for i in $(seq 100); do ping -c 1 -W 1 10.99.0.2 >/dev/null 2>&1 && break; sleep 0.1; done
	ping -c 20 -i 0.01 -W 2 10.99.0.2 | grep -o '20 received'
	ping -c 20 -i 0.01 -W 2 -s 1300 10.99.0.2 | grep -o '20 received'
	kill $p
	wait $p 2>/dev/null
	true
}
zoo openvpn 1194 udp
done_testing
