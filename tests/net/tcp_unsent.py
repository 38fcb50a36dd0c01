# SPDX-License-Identifier: BSD-2-Clause
"""tcp_unsent.py OWN PEER FAR: how many bytes a write takes while the peer reads nothing. The setting is 100,000
bytes."""
from tcplib import *

own, peer, far = start()
LOWAT = 25


def full(s):
    """Unsent bytes, once no more are taken; roughly, since the size of a piece depends on the implementation."""
    fill(s)
    n = ioctl_int(s, SIOCOUTQNSD)
    return "little" if n < 90000 else "the setting's" if n < 400000 else "much"


def begin(*options):
    def before(s):
        s.setsockopt(SOL, 32, 4000000)  # SO_SNDBUFFORCE
        for o in options:
            s.setsockopt(TCP, LOWAT, o)
    s, f = pair(own, peer, far, 7000, before)
    say(*options, full(s), polled(s), attempt(s.send, b"x"))
    return s, f


for one in (20000,), (-1,), (20000, 0):
    for end in begin(*one):
        end.close()
s, f = begin()
unsent = ioctl_int(s, SIOCOUTQNSD)
for lowat in unsent + 1, 2 * unsent + 2:  # the first leaves room for a write, but wakes no thread
    s.setsockopt(TCP, LOWAT, lowat)
    say("more", polled(s))
s.setsockopt(TCP, LOWAT, unsent)
say("less", polled(s), attempt(s.send, b"x"))
f.take(ioctl_int(s, SIOCOUTQ) + f.ioctl_int(FIONREAD))
say("read", settles(s, "OUT"))
s.close()
say("done")
