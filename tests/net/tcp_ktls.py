# SPDX-License-Identifier: BSD-2-Clause
"""tcp_ktls.py OWN PEER FAR: a connection is in clear text first, then both ends leave records and encryption to the
kernel (Documentation/networking/tls.rst)."""
from tcplib import *

own, peer, far = start()

for name, s, f in both_ways(own, peer, far, 7000):
    say(name)
    say("in the clear:", s.send(b"STARTTLS\n"), f.take(9), f.send(b"go\n"), take(s, 3))
    s.send(b"before")  # bytes under way, or unread, when the connection becomes the kernel's
    f.send(b"and before")
    say("no such protocol:", attempt(s.setsockopt, TCP, 31, b"no-such-one"))
    say("keys:", f.take(6), take(s, 10), ktls(s, 1, 2), f.ktls(2, 1))
    say("records:", s.send(b"hello"), f.take(5), f.send(b"x" * 40000), take(s, 40000) == b"x" * 40000)
    done = far.later(f, "swap", 5, 6, 300000)
    say("both at once:", swap(s, 6, 5, 300000), done())
    say("ULP:", s.getsockopt(TCP, 31, 16).rstrip(b"\0"), state(s))
    s.shutdown(socket.SHUT_WR)
    say("the end:", f.to_end(), f.close(), to_end(s))
    s.close()
