#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Multicast between programs: Python's and socat's receivers of one group and of two, a sender for
# each; on a host with a second receiver that is not preloaded nobody goes short.
. "$(dirname "$0")/lib.sh"
need socat python3
net_up
a ip route add 224.0.0.0/4 dev "$DEV_A"
b ip route add 224.0.0.0/4 dev "$DEV_B"

cat >"$TMP/rx.py" <<'PY'
import selectors, socket, struct, sys
addr, port, n = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
sel = selectors.DefaultSelector()
socks = []
for group in sys.argv[4:]:
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    s.bind((group, port))
    s.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP,
                 socket.inet_aton(group) + socket.inet_aton(addr))
    s.setblocking(False)
    sel.register(s, selectors.EVENT_READ, group)
print("joined", flush=True)
got = {g: [] for g in sys.argv[4:]}
while sum(map(len, got.values())) < n * len(got):
    ready = sel.select(10)
    if not ready:
        break
    for key, _ in ready:
        data, sender = key.fileobj.recvfrom(65536)
        got[key.data].append(int(data))
for g in got:
    print(g, len(got[g]), got[g] == list(range(n)))
PY
cat >"$TMP/tx.py" <<'PY'
import socket, sys, time
addr, port, n = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton(addr))
s.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_TTL, 3)
for i in range(n):
    for g in sys.argv[4:]:
        s.sendto(b"%d" % i, (g, port))
    time.sleep(0.001)
PY
G1=239.7.7.1 G2=239.7.7.2
receive() { # file, options of rx.py: runs it in the background, with its PID in BG
	local file=$1
	shift
	bg pb python3 "$TMP/rx.py" "$B4" "$@" >"$file"
	wait_line "$file" joined
	server_is_ours && sleep 0.2
}
one() { receive "$TMP/rx" 7300 300 $G1; pa python3 "$TMP/tx.py" "$A4" 7300 300 $G1; wait_end "$BG" 20; cat "$TMP/rx"; }
two() { receive "$TMP/rx" 7300 300 $G1 $G2; pa python3 "$TMP/tx.py" "$A4" 7300 300 $G1 $G2; wait_end "$BG" 20; cat "$TMP/rx"; }
beside() { # runs a receiver of the kernel's beside one that may be preloaded
	local other
	b python3 "$TMP/rx.py" "$B4" 7300 300 $G1 >"$TMP/rx.other" &
	other=$!
	wait_line "$TMP/rx.other" joined
	one
	wait_end $other 20
	cat "$TMP/rx.other"
}
later() { # starts the kernel's receiver while the other one runs
	local other first
	receive "$TMP/rx" 7300 300 $G1
	first=$BG
	b python3 "$TMP/rx.py" "$B4" 7300 300 $G1 >"$TMP/rx.other" &
	other=$!
	wait_line "$TMP/rx.other" joined
	sleep 2.5 # the library looks every second
	pa python3 "$TMP/tx.py" "$A4" 7300 300 $G1
	wait_end $other 20
	wait_end "$first" 20
	cat "$TMP/rx" "$TMP/rx.other"
}
cat_group() {
	bg pb socat -u "UDP4-RECV:7301,bind=$G2,ip-add-membership=$G2:$B4,reuseaddr" "CREATE:$TMP/cat"
	wait_server "$BG" 7301
	for i in 1 2 3 4 5; do echo "line $i" | pa socat -u - "UDP4-DATAGRAM:$G2:7301,ip-multicast-if=$A4"; done
	wait_until 5 file_has "$TMP/cat" "line 5"
	stop "$BG"
	cat "$TMP/cat"
	rm "$TMP/cat"
}
for MODE in $MODES; do
	offload_begin
	differ one one
	differ two two
	offload_end 900
	differ beside beside
	differ later later
	differ socat cat_group
done
done_testing
