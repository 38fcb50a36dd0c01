#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# SLUICE_RX_BACKEND=verbs on the simulated NIC with VLAN devices: rules with the tag bring UDP and TCP, each device its
# own; a socket on the device below gets none of them; a VLAN device that is deleted has none; what no rule can say (two
# tags) stays with the kernel, and the log says so.
if [ -z "${VLANS:-}" ]; then
	VLANS=5 bash "$0" && VLANS="100 5" bash "$0"
	exit
fi
VERBS=1
. "$(dirname "$0")/lib.sh"
net_up
MODE=simulated
need socat
SIM=$TMP/nic.a
BIN=$BUILD/tests/net
SL_ENV=(SLUICE_RX_BACKEND=verbs)

fresh() { rm -f "$TMP"/sluice.*.log "$SIM"/control.* "$TMP/answers"; }
figure() { nic_control a stat | sed -n "s/^$1 //p"; }
programs() { a bpftool net show dev "$LOW_A" 2>/dev/null | grep -c 'simulated_nic'; }
kernel_got() { udp_stat a InDatagrams; }
asks() { # how many, address: all are answered, once
	b "$BIN/steady" -n "$1" "$2" 7000 "$TMP/answers"
	cut -d' ' -f1-5 "$TMP/answers"
}
serve() { # address: an echo server, known to its peer
	bg sa "$BIN/echo" "$1" 7000
	wait_udp a 7000
	asks 60 "$2" >/dev/null
}

if [ "$VLANS" != 5 ]; then
	serve "$A4" "$A4"
	same "two tags: all are answered" "60 60 0 0 0" "$(asks 60 "$A4")"
	ok "two tags: the log says why not by verbs" logged 'stay with the kernel: rules of the NIC know one VLAN tag'
	done_testing
fi

for addr in "$A4" "$A6"; do
	serve "$addr" "$addr"
	ECHO=$BG
	BEFORE=$(kernel_got) IN=$(figure received)
	same "$addr: all are answered, once" "500 500 0 0 0" "$(asks 500 "$addr")"
	same "$addr: by the queue, none by the kernel" "500 0" "$(($(figure received) - IN)) $(($(kernel_got) - BEFORE))"
	stop "$ECHO"
	same "$addr: no rule is left" 0 "$(programs)"
	fresh
done

# TCP, both ways.
head -c 1500000 /dev/urandom >"$TMP/stream"
SUM=$(sha256sum <"$TMP/stream")
bg sa socat "TCP4-LISTEN:7001,bind=$A4,reuseaddr" PIPE
SERVER=$BG
wait_tcp a 7001
b timeout 60 socat -t 30 - "TCP4:$A4:7001" <"$TMP/stream" | sha256sum >"$TMP/got"
same "the server gives back what it got" "$SUM" "$(cat "$TMP/got")"
ok "by verbs" logged 'receives on .* by verbs (simulated0'
wait_end "$SERVER" 20
fresh

# ICMP errors: the router that a VLAN leads to knows no way.
b sysctl -qw net.ipv4.ip_forward=1
ip -n "${NS}b" route add unreachable 198.51.100.0/24
ip -n "${NS}a" route add 198.51.100.0/24 via "$B4"
refused() { # RUN: how connect(2) ends
	"$@" timeout 60 python3 -c "
import socket
s = socket.socket()
s.settimeout(30)
try:
    s.connect(('198.51.100.9', 80))
except OSError as e:
    print(e)"
}
same "a router's report of a connection, over VLAN" "$(refused a)" "$(refused sa)"
ok "that connection was by verbs" logged 'receives on .* by verbs (simulated0'
fresh

# A socket for all addresses, beside a second VLAN device and the device below: each has rules of its own.
vlan_up a "$LOW_A" 6 && vlan_up b "$LOW_B" 6 || die "no second VLAN device"
addr_up a "$LOW_A.6" "$NET4.129/30"
addr_up b "$LOW_B.6" "$NET4.130/30"
addr_up a "$LOW_A" "$NET4.133/30"
addr_up b "$LOW_B" "$NET4.134/30"
serve 0.0.0.0 "$A4"
ECHO=$BG
for to in "$A4" "$NET4.129" "$NET4.133"; do
	asks 60 "$to" >/dev/null
	IN=$(figure received)
	same "for all addresses: $to is answered, once" "200 200 0 0 0" "$(asks 200 "$to")"
	same "for all addresses: $to by the queue" 200 $(($(figure received) - IN))
done
# (The other VLAN's frames are not the kernel's business, and the reverse.)
a ip link del "$LOW_A.6"
ok "a VLAN device is deleted: its rules go" wait_until 10 eval 'b "$BIN/steady" -n 1 "$NET4.129" 7000 "$TMP/answers"; [ "$(cut -d" " -f2 "$TMP/answers")" = 0 ]'
same "the others go on" "200 200 0 0 0" "$(asks 200 "$A4")"
stop "$ECHO"
fresh

# A socket on the device below with an address that VLAN packets have, too, gets none of those.
bg sa "$BIN/echo" "$NET4.133" 7000
ECHO=$BG
wait_udp a 7000
asks 60 "$NET4.133" >/dev/null
ip -n "${NS}b" route add "$NET4.133/32" dev "$DEV_B" src "$B4"
a sysctl -qw "net.ipv4.conf.all.rp_filter=0" "net.ipv4.conf.$LOW_A.rp_filter=0"
BEFORE=$(kernel_got)
b "$BIN/steady" -n 50 "$NET4.133" 7000 "$TMP/answers"
ok "a tagged packet at a rule without a tag is the kernel's" test $(($(kernel_got) - BEFORE)) -ge 40
vlan_up b "$LOW_B" 7 || die "no third VLAN device"
addr_up b "$LOW_B.7" "$NET4.137/30"
ip -n "${NS}b" route replace "$NET4.133/32" dev "$LOW_B.7" src "$B4"
ip -n "${NS}b" neigh replace "$NET4.133" lladdr "$(ip -n "${NS}a" -o link show "$LOW_A" | sed 's/.*ether \([^ ]*\).*/\1/')" \
	dev "$LOW_B.7" nud permanent
BEFORE=$(kernel_got) IN=$(figure received)
b "$BIN/steady" -n 50 "$NET4.133" 7000 "$TMP/answers"
ok "a packet of a VLAN that is not here comes to the rule, too" test $(($(figure received) - IN)) -ge 40
same "and is nobody's" 0 $(($(kernel_got) - BEFORE))
stop "$ECHO"
done_testing
