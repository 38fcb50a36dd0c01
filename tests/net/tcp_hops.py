# SPDX-License-Identifier: BSD-2-Clause
"""tcp_hops.py OWN PEER CONTROL: the peer's hop limit is set beside the least one that is taken here."""
from tcplib import *

own, peer, far = sys.argv[1], sys.argv[2], Far(sys.argv[3])
LEVEL, LEAST, HOPS = (socket.IPPROTO_IPV6, 73, 16) if is6(own) else (socket.IPPROTO_IP, 21, 2)


def comes(s, n=1):
    """The bytes that come within a fifth of a second."""
    s.settimeout(0.2)
    got = attempt(s.recv, n)
    s.settimeout(None)
    return got


def far_sends(f, hops):
    f.setsockopt(LEVEL, HOPS, hops)
    f.send(b"x")


def used(what, s, f):
    """Bytes of a far host that is too far wait for their retransmission, which the limit lets pass once it is lower."""
    for least, hops in (255, 255), (64, 64), (65, 64), (255, 254):
        s.setsockopt(LEVEL, LEAST, least)
        far_sends(f, hops)
        got = comes(s)
        say(what, least, hops, got)
        s.setsockopt(LEVEL, LEAST, 0)
        if got != b"x":
            say(what, "later", take(s, 1))
    f.setsockopt(LEVEL, HOPS, 255)
    s.setsockopt(LEVEL, LEAST, 255)
    for i in range(50):
        s.sendall(pattern(1, i * 3000, 3000))
        assert f.take(3000) == pattern(1, i * 3000, 3000)
        f.sendall(pattern(2, i * 3000, 3000))
        assert take(s, 3000) == pattern(2, i * 3000, 3000)
    say(what, "both ways", s.getsockopt(LEVEL, LEAST))


# A client.
fl = far.tcp(peer, 0, 5)
s = tcp(six=is6(own))
s.connect(fl.getsockname()[:2])
f, _ = fl.accept()
used("client", s, f)
for bad in 256, -1:
    say(bad, attempt(s.setsockopt, LEVEL, LEAST, bad), s.getsockopt(LEVEL, LEAST))

# A client that sets it before: the SYN-ACK comes too far. The listener's hop limit is that of its SYN-ACKs.
fl.setsockopt(LEVEL, HOPS, 64)
s = tcp(six=is6(own))
s.setsockopt(LEVEL, LEAST, 100)
s.setblocking(False)
say("begun", attempt(s.connect, fl.getsockname()[:2]))
say("too far", polled(s, select.POLLOUT, 0.2))
s.setsockopt(LEVEL, LEAST, 0)
say("near enough", polled(s, select.POLLOUT, 5))

# A listener, and what it accepts.
ls = tcp(own, 0)
ls.setsockopt(LEVEL, LEAST, 100)
ls.listen()
f = far.tcp(six=is6(own))
f.setsockopt(LEVEL, HOPS, 64)
f.setblocking(False)
attempt(f.connect, ls.getsockname()[:2])
say("a SYN from too far", polled(ls, select.POLLIN, 0.2))
f.close()
f = far.tcp(six=is6(own))
f.setsockopt(LEVEL, HOPS, 200)
f.connect(ls.getsockname()[:2])
s, _ = ls.accept()
say("accepted", s.getsockopt(LEVEL, LEAST))
far_sends(f, 99)
say("to the accepted one", comes(s))
s.setsockopt(LEVEL, LEAST, 0)
say("later", take(s, 1))
used("accepted", s, f)

# A reset from too far is none.
f.setsockopt(LEVEL, HOPS, 254)
f.close_reset()
time.sleep(0.1)
say("a reset from too far", polled(s), so_error(s))
far.forget()
