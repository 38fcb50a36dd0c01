# SPDX-License-Identifier: BSD-2-Clause
"""tcp_oob.py OWN PEER FAR: urgent data as Linux implements them."""
import ctypes

from tcplib import *

own, peer, far = start()
OOB, PEEK, DONTWAIT = socket.MSG_OOB, socket.MSG_PEEK, socket.MSG_DONTWAIT
signals = []
signal.signal(signal.SIGURG, lambda *a: signals.append(1))


def mark(s):
    at = ioctl_int(s, SIOCATMARK)
    if ctypes.CDLL(None).sockatmark(s.fileno()) != at:
        say("sockatmark(3) says something else")
    return at


def receive(s, f):
    say("none", attempt(s.recv, 1, OOB), mark(s))
    fcntl.fcntl(s, fcntl.F_SETOWN, os.getpid())
    f.send(b"abc!", OOB)
    f.send(b"def")
    say("urgent", settles(s, "PRI|IN"), arrived(s, 3), bool(wait_for(lambda: signals)))
    say("before the mark", mark(s), s.recv(100), mark(s), polled(s))
    say("the byte", attempt(s.recv, 10, OOB | PEEK), attempt(s.recv, 10, OOB), attempt(s.recv, 10, OOB), mark(s))
    say("behind", s.recv(100), mark(s), polled(s))
    f.send(b"!", OOB)
    settles(s, "PRI")
    say("alone", polled(s), attempt(s.recv, 10, DONTWAIT))
    say("then it is forgotten", attempt(s.recv, 10, OOB))
    say("gone", polled(s))
    f.send(b"a!", OOB)
    say("again", settles(s, "PRI|IN"))
    f.send(b"b?", OOB)
    arrived(s, 2)
    time.sleep(0.05)
    say("two", s.recv(100), attempt(s.recv, 1, OOB), attempt(s.recv, 100, DONTWAIT))
    f.send(b"12!", OOB)
    f.send(b"345")
    say("FIONREAD ends at the mark", arrived(s, 2))
    time.sleep(0.05)
    say("not fetched", s.recv(100), s.recv(100), attempt(s.recv, 1, OOB))
    f.send(b"ab!", OOB)
    f.send(b"cd")
    settles(s, "PRI|IN")
    arrived(s, 2)
    say("at the mark nothing counts", s.recv(2), ioctl_int(s, FIONREAD), mark(s), polled(s), s.recv(1, PEEK),
        attempt(s.recv, 1, OOB | PEEK), attempt(s.recv, 0), mark(s), s.recv(1), ioctl_int(s, FIONREAD), s.recv(10))
    s.setsockopt(SOL, socket.SO_RCVLOWAT, 3)
    f.send(b"x!", OOB)
    f.send(b"y")
    settles(s, "PRI|IN", 2)
    say("SO_RCVLOWAT counts across it", polled(s), s.recv(1), polled(s))
    f.send(b"z")
    time.sleep(0.05)
    say("but not the byte", polled(s))
    f.send(b"w")
    say("enough", settles(s, "IN"), s.recv(10))
    s.setsockopt(SOL, socket.SO_RCVLOWAT, 1)
    f.send(b"tail!", OOB)
    f.shutdown(socket.SHUT_WR)
    say("with FIN", settles(s, "IN|RDHUP"), s.recv(100), attempt(s.recv, 1, OOB), attempt(s.recv, 1), attempt(s.recv, 1, OOB))


def inline(s, f):
    s.setsockopt(SOL, socket.SO_OOBINLINE, 1)
    f.send(b"abc!", OOB)
    f.send(b"def")
    arrived(s, 7)
    settles(s, "PRI")
    say("inline", polled(s), attempt(s.recv, 1, OOB), mark(s), s.recv(100), mark(s), polled(s))
    say("from the mark", s.recv(100), mark(s), polled(s))
    f.send(b"!", OOB)
    f.send(b"x")
    arrived(s, 2)
    say("at once", mark(s), s.recv(100), mark(s))


def sending(s, f):
    s.send(b"abc!", OOB)
    s.send(b"def")
    say("sent", f.settles("PRI|IN"), f.arrived(3), f.recv(100), f.recv(1, OOB), f.recv(100))
    s.sendmsg([b"x", b"y", b"z!"], [], OOB)
    say("sendmsg", f.settles("PRI"), f.take(3), f.recv(1, OOB))
    s.send(b"1", OOB)
    s.send(b"2", OOB)
    time.sleep(0.05)
    say("two", attempt(f.recv, 10, DONTWAIT))
    say("then", attempt(f.recv, 1, OOB))
    s.send(b"", OOB)
    s.send(b"then")
    say("empty", f.take(4))


for name, s, f in both_ways(own, peer, far, 7000):
    for part in (sending, receive):
        say(name, part.__name__)
        part(s, f)
    s.close()
    f.close()
for name, s, f in both_ways(own, peer, far, 7001):
    say(name, "inline")
    inline(s, f)
    s.close()
    f.close()
s = tcp(six=is6(own))
say("unconnected", attempt(s.recv, 1, OOB), attempt(s.send, b"x", OOB), attempt(mark, s))
s.close()

# A reset discards the urgent byte; a FIN does not.
for end in ("close_reset", "close"):
    s, f = pair(own, peer, far, 7003)
    f.send(b"!", OOB)
    settles(s, "PRI")
    say(end, getattr(f, end)(), settles(s, "ERR" if end == "close_reset" else "RDHUP"), attempt(s.recv, 1, OOB | socket.MSG_PEEK),
        so_error(s), attempt(s.recv, 1, OOB))
    s.close()

# The urgent byte alone, and a FIN behind it: a call for no bytes, and a splice, which does not pass it.
for fin in (False, True):
    for waits in (False, True):
        s, f = pair(own, peer, far, 7004)
        f.send(b"!", OOB)
        settles(s, "PRI")
        if fin:
            f.shutdown(socket.SHUT_WR)
            settles(s, "RDHUP")
        s.setblocking(waits)
        r, w = os.pipe()
        say("alone", "FIN" if fin else "", raw("recv", s.fileno(), None, 0, DONTWAIT), raw("recv", s.fileno(), None, 0, DONTWAIT | PEEK),
            raw("splice", s.fileno(), None, w, None, 10, 0), raw("splice", s.fileno(), None, w, None, 10, 2), polled(s))
        s.close()
        f.close()

# A thread sleeps in select() until the urgent byte is reported as an exception.
s, f = pair(own, peer, far, 7002)
for what in SLEEPERS:
    t = threading.Timer(0.1, f.send, [b"!", OOB])
    t.start()
    got = asleep(what, s, select.POLLPRI)
    t.join()
    say(what, got, s.recv(1, OOB))
s.close()
s, f = pair(own, peer, far, 7009)
say("disconnected", disconnect(s), attempt(s.recv, 1, OOB), attempt(s.recv, 1), attempt(s.recv, 1, OOB))
s.close()
f.close()
say("done")
