# SPDX-License-Identifier: BSD-2-Clause
"""tcp_bind_lo.py OWN PEER FAR [bind]: SO_BINDTODEVICE and SO_BINDTOIFINDEX of a connection and of a listener, by the loopback
device, by another one, and (without "bind") back, which needs privileges."""
from tcplib import *

own, peer, far = start()
six = is6(own)
IFINDEX = 62
mine = [n for i, n in socket.if_nameindex() if n.startswith("v") and n.endswith("b")]


def bind_to(s, name):
    return attempt(s.setsockopt, SOL, socket.SO_BINDTODEVICE, name.encode() + b"\0")


def bound(s):
    return s.getsockopt(SOL, IFINDEX), s.getsockopt(SOL, socket.SO_BINDTODEVICE, 16).strip(b"\0") in (b"", b"lo")


def connected(port):
    ls = far.tcp(peer, port, 5)
    s = tcp(six=six)
    s.connect((peer, port))
    f = ls.accept()[0]
    ls.close()
    return s, f


def passes(s, f, what):
    """Bytes in both directions, each within half a second or not."""
    sent = attempt(s.send, b"x")
    a = attempt(f.recv, 100) if "IN" in f.settles("IN", 0.5) else None
    back = attempt(f.send, b"y")
    b = attempt(s.recv, 100) if "IN" in settles(s, "IN", 0.5) else None
    say("   ", what, sent, a, back, b)


def ifindex(name):
    return socket.if_nametoindex(name)


port = 7200
for name in "lo", mine[-1]:
    for idle in True, False:
        port += 1
        say("bound to", "lo" if name == "lo" else "its device", "idle" if idle else "busy")
        s, f = connected(port)
        if not idle:
            passes(s, f, "before")
        say("    set", bind_to(s, name), bound(s)[1] or name != "lo")
        passes(s, f, "bound")
        if name == "lo":
            say("    the peer", f.settles("ERR", 2.0) if idle else "")
        elif not sys.argv[4:]:
            say("    unset", bind_to(s, ""), bound(s))
            passes(s, f, "unbound")
        s.close()
        f.close()

# A listener: who comes by another device is no connection of it.
for name in "lo", mine[-1], "":
    port += 1
    ls = tcp(own, port, 5)
    ls.setblocking(False)
    say("a listener, bound to", name if name in ("lo", "") else "its device", bind_to(ls, name))
    f = far.tcp(six=six)
    f.setblocking(False)
    try:
        f.connect((own, port))
    except BlockingIOError:
        pass
    say("    a peer", f.settles("OUT"), settles(ls, "IN", 0.5))
    f.close()
    ls.close()
