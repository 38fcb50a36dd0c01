# SPDX-License-Identifier: BSD-2-Clause
"""tcp_few_ports.py OWN PEER FAR: connections to ten ports of a peer, with ten local ports: each of these serves each
peer once, also after bind(2) with IP_BIND_ADDRESS_NO_PORT, and the next connection finds none."""
from tcplib import *

own, peer, far = start()
IP_BIND_ADDRESS_NO_PORT = 24
PEERS = range(7000, 7010)
listeners = [far.tcp(peer, port, 50) for port in PEERS]


def connect(port, bound):
    s = tcp(six=is6(peer))
    if bound:
        s.setsockopt(socket.IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, 1)
        s.bind((own, 0))
    return s, raw_connect(s, peer, port)


for bound in (False, True):
    kept = [connect(port, bound) for _ in range(10) for port in PEERS]
    names = [(s.getsockname()[1], s.getpeername()[1]) for s, err in kept if not err]
    say("bound" if bound else "not bound", len(names), len(set(names)), len({own for own, _ in names}))
    say("one more", connect(7000, bound)[1])
    listening = tcp(six=is6(peer))
    say("its port is taken", attempt(listening.bind, (own, names[0][0])))
    listening.setsockopt(SOL, socket.SO_REUSEADDR, 1)
    say("also for SO_REUSEADDR", attempt(listening.bind, (own, names[0][0])), attempt(listening.listen, 1))
    say("option", [s.getsockopt(SOL, socket.SO_REUSEADDR) for s, _ in kept[:2]])
    for s, _ in kept[3::10] + kept[4::10] if bound else ():  # (these become the kernel's, with ports that others of ours have)
        s.setsockopt(SOL, socket.SO_DONTROUTE, 1)
    for s, _ in kept:
        s.send(b"%5d" % s.getsockname()[1])
    ok = 0
    for ls in listeners:
        for _ in range(10):
            f, name = ls.accept()
            ok += (name[1], ls.getsockname()[1]) in names and f.take(5) == b"%5d" % name[1]
            f.close_reset()
    say("as the peer sees them", ok)
    for s, _ in kept:
        s.close()
    listening.close()
for ls in listeners:
    ls.close()
say("done")
