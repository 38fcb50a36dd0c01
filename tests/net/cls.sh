#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# The steering program as a tc filter, as on a kernel without tcx (before Linux 6.6): filters and queueing disciplines of others
# keep their place, and nothing of ours is left, whatever ends first.
MODES=one # (the kernel is no oracle here)
. "$(dirname "$0")/lib.sh"
need python3
no_tcx
net_up
MODE=one
unset SLUICE_START
export SLUICE_RX_BACKEND=packet
NOTHING=(bpf bytecode "1,6 0 0 0," flowid 1:1) # somebody's filter, which matches nothing
filters() { b tc filter show dev "$DEV_B" "${1:-ingress}"; }
ours() { filters | grep -c 'name steer_skb ' || true; }
has_clsact() { b tc qdisc show dev "$DEV_B" | grep -q clsact; }
echo_server() { # starts a server of datagrams on b, which is SERVER; with a word: its effective user is another, so it has no capabilities
	rm -f "$TMP"/sluice.*.log
	bg sb python3 -c 'import os, signal, socket, sys
signal.signal(signal.SIGTERM, lambda *_: sys.exit())
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind((sys.argv[1], 7000))
if sys.argv[2:]:
    os.seteuid(1001)
while True:
    d, peer = s.recvfrom(100)
    s.sendto(d, peer)' "$B4" "$@"
	SERVER=$BG
	wait_udp b 7000
	wait_until 20 logged 'offloaded:' || fail "the server has no device"
}
answers() { # how many of 20 datagrams come back
	a python3 -c 'import socket, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.settimeout(5)
n = 0
for i in range(20):
    s.sendto(b"%d" % i, (sys.argv[1], 7000))
    n += s.recv(100) == b"%d" % i
print(n)' "$B4"
}
served() { # how
	offload_begin
	same "$1: each datagram is answered" 20 "$(answers)"
	offload_end 20
}

echo_server
same "there is one filter" 1 "$(ours)"
served "alone"
stop "$SERVER"
ok "an orderly end: the filter goes, and the discipline" eval '[ "$(ours)" = 0 ] && ! has_clsact'

# The reaper removes what a killed owner leaves; meanwhile the kernel has the packets.
echo_server
kill -9 "$SERVER"
wait "$SERVER" 2>/dev/null
ok "a killed owner: the filter goes, and the discipline" wait_until 10 eval '[ "$(ours)" = 0 ] && ! has_clsact'

# An owner without privileges cannot remove it at its end: its reaper does.
echo_server nobody
served "without privileges"
stop "$SERVER"
ok "an owner without privileges: the filter goes, and the discipline" wait_until 10 eval '[ "$(ours)" = 0 ] && ! has_clsact'

# A new owner comes while the old one's reaper may be at work.
for _ in 1 2 3; do
	echo_server
	kill -9 "$SERVER"
	wait "$SERVER" 2>/dev/null
done
echo_server
same "after killed owners there is one filter" 1 "$(ours)"
served "after killed owners"
stop "$SERVER"

# Somebody removes the filter (the discipline stays then), or the discipline with all filters.
for what in "filter del dev $DEV_B ingress" "qdisc del dev $DEV_B clsact"; do
	echo_server
	b tc $what
	ok "tc ${what%% dev*}: the log says so" wait_until 10 logged 'not steered any more\|taken off'
	same "tc ${what%% dev*}: the kernel serves" 20 "$(answers)"
	stop "$SERVER"
	same "tc ${what%% dev*}: nothing of ours is left" 0 "$(ours)"
done

# A discipline that was there stays, and what is sent by it.
b tc qdisc add dev "$DEV_B" clsact
b tc filter add dev "$DEV_B" egress protocol ip prio 7 "${NOTHING[@]}"
before=$(filters egress)
echo_server
served "beside a filter of what is sent"
stop "$SERVER"
same "the filter of what is sent stays" "$before" "$(filters egress)"
ok "the discipline that was there stays" has_clsact
same "and nothing of ours" 0 "$(ours)"

# A filter that comes later gets its own priority, before ours, and is not removed with the discipline.
b tc qdisc del dev "$DEV_B" clsact
echo_server
b tc filter add dev "$DEV_B" ingress protocol ip "${NOTHING[@]}"
served "a filter comes"
stop "$SERVER"
ok "a filter that came later stays" eval 'filters | grep -q bytecode'
same "and nothing of ours" 0 "$(ours)"

# With a filter of somebody else on the device, whose verdict may end the look, packets come by XDP.
echo_server
ok "others' filters: the log says why" logged 'no packet sockets (others have tc filters on it, and tcx needs Linux 6.6): by XDP'
same "and there is no filter of ours" 0 "$(ours)"
served "by XDP"
stop "$SERVER"
done_testing
