# SPDX-License-Identifier: BSD-2-Clause
"""mtu.py OWN PEER PORT: MTU_DISCOVER, datagrams beyond the MTU both ways. A reflector is at PEER PORT."""
from netlib import *

own, peer, port = sys.argv[1], sys.argv[2], int(sys.argv[3])
to = (peer, port)
six = is6(peer)
IP, MTU, DISCOVER = ((socket.IPPROTO_IPV6, IPV6_MTU, IPV6_MTU_DISCOVER) if six else
                     (socket.IPPROTO_IP, IP_MTU, IP_MTU_DISCOVER))
s = udp(own)
s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 400000)
s.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 400000)
say("default", s.getsockopt(IP, DISCOVER), "unconnected", attempt(s.getsockopt, IP, MTU))
s.connect(to)
mtu = s.getsockopt(IP, MTU)
largest = mtu - (48 if six else 28)
say("mtu", mtu)
for size in (largest, largest + 1, 3000, 8000, 30000, 65507 if not six else 65487):
    s.send(b"f" * size)
    say("there and back", size, len(s.recv(65536)))
for size in (3000, 20000, 60000):
    s.send(question(size=size))
    say("only back", size, len(s.recv(65536)))
    s.send(question(pad=size))
    say("only there", size, answer(s)["len"])
say("too long", attempt(s.send, b"x" * 65508 if not six else b"x" * 65529))
for how, name in ((0, "DONT"), (1, "WANT"), (2, "DO"), (3, "PROBE"), (4, "INTERFACE"), (5, "OMIT")):
    say(name, attempt(s.setsockopt, IP, DISCOVER, how), s.getsockopt(IP, DISCOVER))
    for size in (largest, largest + 1):
        s.setblocking(True)
        s.settimeout(TIMEOUT)
        got = attempt(s.send, question(pad=size))
        say("   ", size, got, answer(s)["len"] if got == size else "")
say("wrong", attempt(s.setsockopt, IP, DISCOVER, 9))
# Fragmented and whole datagrams, mixed: all arrive in order.
s.setsockopt(IP, DISCOVER, 1)
sizes = [100, 5000, 200, 1400, 9000, 300] * 5
for n in sizes:
    s.send(b"m" * n)
say("mixed", sorted(len(s.recv(65536)) for _ in sizes) == sorted(sizes))
