# SPDX-License-Identifier: BSD-2-Clause
"""icmp.py HOW:ADDRESS...: sends to addresses behind a router that refuses each in its own way. HOW is the effect on a
connected socket: hard (an error), soft (an error only with IP_RECVERR) or big (an error because of the size). Routers
may limit their ICMP errors, so each datagram is repeated until an error
comes."""
from netlib import *


def until_error(s, send, events=select.POLLIN):
    p = select.poll()
    p.register(s, events)
    for _ in range(40):
        attempt(send)
        if p.poll(250):
            return
    raise TimeoutError("no ICMP error came")


for arg in sys.argv[1:]:
    how, peer = arg.split(":", 1)
    level, mtu = (socket.IPPROTO_IPV6, IPV6_MTU) if is6(peer) else (socket.IPPROTO_IP, IP_MTU)
    discover = IPV6_MTU_DISCOVER if is6(peer) else IP_MTU_DISCOVER
    recverr = IPV6_RECVERR if is6(peer) else IP_RECVERR
    s = udp(peer, None)
    s.connect((peer, 9))
    s.setsockopt(level, discover, 2)  # DO
    say(peer, "mtu before", s.getsockopt(level, mtu))
    if how == "soft":
        s.send(b"x" * 1300)
        say(peer, "silence", nothing_comes(s))
        s.setsockopt(level, recverr, 1)
    until_error(s, lambda: s.send(b"x" * 1300))
    say(peer, "recv", attempt(s.recv, 100))
    say(peer, "mtu then", s.getsockopt(level, mtu))
    if how == "big":
        say(peer, "long again", attempt(s.send, b"x" * 1300))
        say(peer, "shorter", attempt(s.send, b"x" * 500))
        s.setsockopt(level, discover, 1)  # WANT: in fragments, by the path MTU
        say(peer, "in fragments", attempt(s.send, b"x" * 1300), nothing_comes(s))
    s.close()

    # The error queue of an unconnected socket. PROBE: a known path MTU does not hold it back.
    s = udp(peer, None)
    s.setsockopt(level, recverr, 1)
    s.setsockopt(level, discover, 3)
    until_error(s, lambda: s.sendto(b"y" * 1300, (peer, 9)), 0)
    s.settimeout(None)
    data, cmsgs, flags, to = s.recvmsg(2000, 1000, socket.MSG_ERRQUEUE)
    err, origin, kind, code, info = struct.unpack("IBBBxI", cmsgs[0][2][:12])
    say(peer, "error queue:", len(data) > 0, name_of(err), origin, kind, code, info, to[:2])
    s.close()
