#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Receiving by packet sockets, as a veth does (SLUICE_RX_BACKEND=auto): both protocols and families are offloaded, large segments
# arrive whole, the device has no XDP program and its peer keeps its GSO, and a killed program leaves nothing.
# By tcx, and with CLS=1 by a tc filter, as before Linux 6.6.
. "$(dirname "$0")/lib.sh"
[ -z "${CLS:-}" ] || no_tcx
export SLUICE_RX_BACKEND=auto # (whatever the run's other tests use)

need python3
net_up
ours() { b ip -o link | grep -c ': sluice[0-9]'; }
none() { [ "$(ours)" = 0 ]; }
# (tcx programs are not listed by older tools: links say which they are.)
programs() {
	local holder
	b tc filter show dev "$DEV_B" ingress | sed -n 's/.* direct-action .* id \([0-9]*\) .*/\1/p'
	for holder in "$server" ${DAEMON_b:+$(pgrep -P "$DAEMON_b")}; do cat "/proc/$holder/fdinfo"/* 2>/dev/null; done |
		sed -n 's/^prog_id:[^0-9]*//p' | sort -u
}
none_of() {
	local id
	for id in "$@"; do ! bpftool prog show id "$id" 2>/dev/null | grep -q 'name steer_skb ' || return 1; done
}
sent() { a ip -s link show "$DEV_A" | awk '/TX:/ { getline; print $2 }'; }
kernel_segs() { b awk '/^Tcp: [0-9]/ { print $11 }' /proc/net/snmp; }

cat >"$TMP/server.py" <<'EOF'
import socket, sys, threading
def udp(s):
    while True:
        data, peer = s.recvfrom(65536)
        s.sendto(data, peer)
def tcp(c):
    while True:
        data = c.recv(1 << 20)
        if not data:
            break
        c.sendall(data)
    c.close()
def accept(l):
    while True:
        threading.Thread(target=tcp, args=(l.accept()[0],), daemon=True).start()
for addr in sys.argv[1:]:
    fam = socket.AF_INET6 if ':' in addr else socket.AF_INET
    s = socket.socket(fam, socket.SOCK_DGRAM)
    s.bind((addr, 7000))
    l = socket.socket(fam, socket.SOCK_STREAM)
    l.bind((addr, 7000))
    l.listen(8)
    threading.Thread(target=udp, args=(s,), daemon=True).start()
    threading.Thread(target=accept, args=(l,), daemon=True).start()
threading.Event().wait()
EOF
cat >"$TMP/client.py" <<'EOF'
import os, socket, struct, sys, threading
addr = sys.argv[1]
fam = socket.AF_INET6 if ':' in addr else socket.AF_INET
s = socket.socket(fam, socket.SOCK_DGRAM)
s.settimeout(10)
s.connect((addr, 7000))
for n in list(range(0, 1400, 7)):
    data = os.urandom(n)
    s.send(data)
    assert s.recv(65536) == data, n
# A large packet that stands for many datagrams (UDP_SEGMENT), the last one shorter.
data = os.urandom(1000 * 19 + 123)
s.setsockopt(socket.IPPROTO_UDP, 103, 1000)
s.send(data)
got = [s.recv(65536) for _ in range(20)]
assert [len(g) for g in got] == [1000] * 19 + [123], [len(g) for g in got]
assert b''.join(got) == data
t = socket.create_connection((addr, 7000), 10)
for n in range(1, 500):
    data = os.urandom(n)
    t.sendall(data)
    got = b''
    while len(got) < n:
        got += t.recv(65536)
    assert got == data, n
data = os.urandom(8 << 20)
w = threading.Thread(target=lambda: (t.sendall(data), t.shutdown(socket.SHUT_WR)))
w.start()
got = bytearray()
while True:
    part = t.recv(1 << 20)
    if not part:
        break
    got += part
w.join()
assert got == data, len(got)
print('done')
EOF

for MODE in one both; do
	bg pb python3 "$TMP/server.py" "$B4" "$B6"
	server=$BG
	wait_tcp b 7000
	wait_until 20 not none || fail "the server has no private device"
	ok "no XDP program on the device" not has_xdp
	ok "the peer keeps its segmentation" eval 'a ethtool -k "$DEV_A" | grep -q "generic-segmentation-offload: on"'
	for addr in "$B4" "$B6"; do
		segs=$(kernel_segs)
		offload_begin
		same "$addr: all bytes come back" done "$(pa python3 "$TMP/client.py" "$addr")"
		offload_end 220
		ok "$addr: TCP is not the kernel's" test $(($(kernel_segs) - segs)) -le 20
	done
	ok "the private device has no address" eval '[ -z "$(b ip -o addr show | grep sluice)" ]'
	ids=$(programs)
	[ -z "${CLS:-}" ] || ok "by a tc filter" eval '[ -n "$(b tc filter show dev "$DEV_B" ingress)" ]'
	ok "its steering program is there" not none_of $ids
	kill -9 "$server"
	wait "$server" 2>/dev/null
	ok "the killed program leaves no device" wait_until 10 none
	ok "and no program" wait_until 10 none_of $ids
	ok "and no queueing discipline" eval '! b tc qdisc show dev "$DEV_B" | grep -q clsact'
done

# A bystander's bulk TCP through the device that we use: its segments stay large.
bg sb python3 "$TMP/server.py" "$B4" "$B6"
server=$BG
wait_tcp b 7000
wait_until 20 not none
python='import socket,sys
l = socket.socket(); l.bind((sys.argv[1], 7100)); l.listen(1); c = l.accept()[0]
n = 0
while True:
    d = c.recv(1 << 20)
    if not d: break
    n += len(d)
print(n)'
bg b python3 -c "$python" "$B4" >"$TMP/bulk" 2>&1
bulk=$BG
wait_tcp b 7100
packets=$(sent)
a python3 -c 'import socket,sys
s = socket.create_connection((sys.argv[1], 7100))
for _ in range(64): s.sendall(bytes(1 << 20))' "$B4"
wait_end "$bulk"
packets=$(($(sent) - packets))
same "the bystander has all bytes" $((64 << 20)) "$(cat "$TMP/bulk")"
ok "its 64 MiB came in $packets packets" test "$packets" -gt 500 -a "$packets" -lt 20000
# The program has the packet socket (the daemon lends it to programs without privileges), which sends to the end of the
# pair here: none of that may reach the host. root plays the program, whose sources the kernel checks least.
if [ "${LEASED:-}" ]; then
	b sysctl -qw net.ipv4.conf.all.rp_filter=0 net.ipv4.conf.all.accept_local=1
	for conf in $(b sh -c 'ls -d /proc/sys/net/ipv4/conf/sluice*'); do b sh -c "echo 0 >$conf/rp_filter"; done
	mac=$(b ip -o link | sed -n 's/.*: sluice[0-9]*@.*ether \([0-9a-f:]*\) .*/\1/p' | head -n 1)
	bg b python3 "$TESTS/net/rx_packet.py" hear "$B4" 7200 "$TMP/heard"
	hear=$BG
	wait_udp b 7200
	same "the socket makes no other ring" "refused" "$(b python3 "$TESTS/net/rx_packet.py" ring "$server")"
	same "packets leave by the lent socket" "sent 20" "$(b python3 "$TESTS/net/rx_packet.py" send "$server" "$mac" "$A4" "$B4" 7200)"
	a python3 -c 'import socket,sys
socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"from a", (sys.argv[1], 7200))' "$B4"
	wait_end "$hear"
	same "and do not arrive" "from a" "$(cat "$TMP/heard")"
fi

# Somebody deletes the private device: the kernel has the traffic, and the program lives on.
b ip link del "$(b ip -o link | sed -n 's/.* \(sluice[0-9]*\)@.*/\1/p' | head -n 1)"
ok "without the device datagrams come by the kernel" wait_until 10 a python3 -c 'import socket,sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(2)
s.sendto(b"x", (sys.argv[1], 7000)); sys.exit(s.recv(10) != b"x")' "$B4"
ok "and the log says so" wait_until 10 eval 'cat "$TMP"/sluice.*.log | grep -q "not steered any more"'
stop "$server"
ok "the ended program leaves no device" wait_until 10 none
[ -z "${LEASED:-}" ] || done_testing

# XDP is used when it is asked for, and packet sockets on a device that has no native XDP.
MODE=one
bg sb SLUICE_XDP_MODE=native python3 "$TMP/server.py" "$B4"
ok "SLUICE_XDP_MODE=native has XDP on a veth" wait_until 20 has_xdp
stop "$BG"
b ip link add up0 link "$DEV_B" type macvlan mode bridge
b ip addr add "$NET4.77/24" dev up0
b ip link set up0 up
bg sb SLUICE_DEVICES=up0 python3 "$TMP/server.py" "$NET4.77"
ok "a macvlan device has packet sockets" wait_until 20 not none
same "all bytes come back" done "$(pa python3 "$TMP/client.py" "$NET4.77")"
ok "and no XDP program" not eval 'b ip link show up0 | grep -q xdp'
done_testing
