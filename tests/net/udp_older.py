# SPDX-License-Identifier: BSD-2-Clause
"""udp_older.py OWN PEER PORT: a datagram of this host, which the kernel's queue has, and one of the reflector's at PEER
PORT are read in the order in which they came, whichever was the first."""
import time

from netlib import *

own, peer, port = sys.argv[1], sys.argv[2], int(sys.argv[3])


def pause():
    time.sleep(0.05)


def local(s, text):
    t = udp(own)
    t.sendto(text, (own, s.getsockname()[1]))
    t.close()
    pause()


def far(s, ctl):
    ctl.sendto(question(count=1, size=300, to=[own, s.getsockname()[1]]), (peer, port))
    ask(ctl, (peer, port))
    pause()


ctl = udp(own)
for order in ("local far", "far local", "local local far", "far far local", "local far", "far local"):
    s = udp(own)
    for what in order.split():
        if what == "local":
            local(s, b"local")
        else:
            far(s, ctl)
    s.settimeout(2)
    first = s.recv(2000)
    rest = sorted(len(s.recv(2000)) for _ in order.split()[1:])
    say(order, "local" if first == b"local" else "far", "then", rest)
    s.close()
