# SPDX-License-Identifier: BSD-2-Clause
"""peers.py OWN PEER PORT N: one unconnected socket asks N peers, each of them many times."""
from netlib import *

own, peer, port, n = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
s = udp(own)
s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
seen = {}
for round in range(20):
    for i in range(n):
        s.sendto(b"%d %d" % (round, i), (peer, port + i))
    for _ in range(n):
        data, sender = s.recvfrom(1000)
        r, i = map(int, data.split())
        assert (r, port + i) == (round, sender[1]), (round, data, sender)
        seen[sender[1]] = seen.get(sender[1], 0) + 1
say(n, "peers,", len(seen), "answered, each", sorted(set(seen.values())))
