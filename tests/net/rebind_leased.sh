#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# A program by the daemon closes its listener, or its UDP socket, and binds the port again at once, as iperf3's server does
# between two tests. The daemon gets hardly any time meanwhile, so it still holds what it was passed.
LEASED=1
. "$(dirname "$0")/lib.sh"
need python3 chrt
net_up
MODE=one
chrt -a -i -p 0 "$DAEMON_b"
for _ in $(seq "$(nproc)"); do bg b timeout 60 sh -c 'while :; do :; done'; done
cat >"$TMP/again.py" <<'EOF'
import socket, sys
addr, peer = sys.argv[1:]
for n in range(120):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.bind((addr, 7000))
    s.sendto(b"x", (peer, 7900))
    s.close()
    s = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    s.bind((addr, 7000))
    s.listen(4)
    if n % 6 == 0:
        c, _ = s.accept()
        c.recv(1)
        c.close()
    s.close()
print("bound")
EOF
cat >"$TMP/peer.py" <<'EOF'
import socket, sys, time
while True:
    try:
        socket.create_connection((sys.argv[1], 7000), 5).send(b"x")
    except OSError:
        time.sleep(0.01)
EOF
bg a timeout 100 python3 "$TMP/peer.py" "$B4"
same "the port is free each time" bound "$(sb timeout 100 python3 "$TMP/again.py" "$B4" "$A4" 2>&1 | tail -n 1)"
ok "it was offloaded" grep -q "offloaded by sluiced" "$TMP"/sluice.[0-9]*.log
done_testing
