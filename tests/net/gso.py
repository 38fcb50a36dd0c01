# SPDX-License-Identifier: BSD-2-Clause
"""gso.py OWN PEER PORT: UDP_SEGMENT and UDP_GRO. A reflector is at PEER PORT."""
from netlib import *

own, peer, port = sys.argv[1], sys.argv[2], int(sys.argv[3])
to = (peer, port)
s = udp(own)
s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 400000)


def back(total):
    got = []
    while sum(got) < total:
        got.append(len(s.recv(65536)))
    return got


say("default", s.getsockopt(SOL_UDP, UDP_SEGMENT), s.getsockopt(SOL_UDP, UDP_GRO))
s.setsockopt(SOL_UDP, UDP_SEGMENT, 500)
say("set", s.getsockopt(SOL_UDP, UDP_SEGMENT))
s.sendto(b"s" * 2123, to)
say("in segments", back(2123))
s.sendto(b"s" * 500, to)
say("one", back(500))
s.sendto(b"s" * 100, to)
say("less than one", back(100))
say("too many", attempt(s.sendto, b"s" * 500 * 129, to))
s.sendmsg([b"w" * 1200], [(SOL_UDP, UDP_SEGMENT, struct.pack("H", 0))], 0, to)
say("whole by message", back(1200))
s.setsockopt(SOL_UDP, UDP_SEGMENT, 0)
s.sendmsg([b"m" * 1000, b"n" * 700], [(SOL_UDP, UDP_SEGMENT, struct.pack("H", 400))], 0, to)
say("by message", back(1700))
s.sendto(b"p" * 900, to)
say("plain again", back(900))
say("segment beyond the MTU",
    attempt(s.sendmsg, [b"m" * 4000], [(SOL_UDP, UDP_SEGMENT, struct.pack("H", 1600))], 0, to))
c = udp(own)
c.connect(to)
c.setsockopt(SOL_UDP, UDP_SEGMENT, 1000)
c.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 400000)
c.send(bytes(i // 1000 for i in range(45000)))
got = [c.recv(65536) for _ in range(45)]
say("45 segments in order", all(g == bytes([i]) * 1000 for i, g in enumerate(got)))
c.close()

# Receiving: how many datagrams are merged depends on time, so only what holds in any case is printed.
s.setsockopt(SOL_UDP, UDP_GRO, 1)
say("gro", s.getsockopt(SOL_UDP, UDP_GRO))
s.sendto(question(size=700, count=20), to)
total = parts = 0
good = True
while total < 14000:
    data, meta, _, _ = recv_meta(s)
    total += len(data)
    size = meta.get("gro", len(data))
    good = good and (len(data) == size or size == 700)
    parts += -(-len(data) // size)
say("all of it", total, parts, good)
