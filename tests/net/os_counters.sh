#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Which of the kernel's counters see offloaded traffic: the table of sluice-troubleshooting(7) is what is expected. A
# program receives and answers 300 datagrams; a counter has moved by so many, or by hardly any. VERBS=1: by verbs.
. "$(dirname "$0")/lib.sh"
need ethtool netstat nstat ss
net_up
need_built
MODE=one
N=300
PAGE=$TOP/conf/sluice-troubleshooting.7

# "counter rx|tx N" lines of host b, by the names of the page.
counters() {
	b ip -s -j link show "$DEV_B" | python3 -c 'import json, sys
s = json.load(sys.stdin)[0]["stats64"]
for d in "rx", "tx":
    print("ip -s link", d, s[d]["packets"])'
	b awk -v d="$DEV_B:" '$1 == d { print "/proc/net/dev rx", $3; print "/proc/net/dev tx", $11 }' /proc/net/dev
	b ethtool -S "$DEV_B" | awk '/rx_queue_[0-9]+_xdp_packets:/ { rx += $2 } /tx_queue_[0-9]+_xdp_xmit:/ { tx += $2 }
		END { print "ethtool -S rx", rx + 0; print "ethtool -S tx", tx + 0 }'
	b awk '$1 == "Udp:" && $2 ~ /^[0-9]/ { print "/proc/net/snmp rx", $2; print "/proc/net/snmp tx", $5 }' /proc/net/snmp
	b netstat -su | awk '/packets received$/ && u { print "netstat -s rx", $1 } /packets sent$/ && u { print "netstat -s tx", $1 }
		/^Udp:/ { u = 1 } /^UdpLite:/ { u = 0 }'
	b nstat -asz UdpInDatagrams UdpOutDatagrams | awk '/^UdpIn/ { print "nstat rx", $2 } /^UdpOut/ { print "nstat tx", $2 }'
}
ask() { a python3 -c 'import socket, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.settimeout(5)
for i in range(int(sys.argv[2])):
    s.sendto(b"x" * 64, (sys.argv[1], 7000))
    s.recv(100)' "$B4" "$1"; }
moved() { # counter, rx|tx
	paste -d' ' "$TMP/before" "$TMP/after" | awk -v what="$1 $2 " -v n=$N 'index($0, what) == 1 {
		d = $NF - $(NF / 2); print (d >= n ? "yes" : d <= n / 10 ? "no" : d) }'
}
compare() { # packet|xdp|verbs
	local counter packet xdp verbs rx tx
	bg sb "$BIN/echo" "$B4" 7000
	wait_udp b 7000
	ask 20 # (the kernel may have the first)
	counters >"$TMP/before"
	ask $N
	counters >"$TMP/after"
	ok "$1: ss lists the socket" grep -q "$B4:7000" <(b ss -uanH)
	stop "$BG"
	while IFS=$'\t' read -r counter packet xdp verbs; do
		read -r rx tx <<<"${!1/\// }"
		same "$1: $counter, received" "$rx" "$(moved "$counter" rx)"
		same "$1: $counter, sent" "$tx" "$(moved "$counter" tx)"
	done < <(sed 's/\\//g' "$PAGE" | awk '/^counter\tpacket/ { on = 1; next } /^\.fi/ { on = 0 } on')
}
if [ -n "${VERBS:-}" ]; then
	compare verbs
else
	for way in packet xdp; do
		SLUICE_RX_BACKEND=$way compare $way
	done
fi
done_testing
