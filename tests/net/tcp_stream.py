# SPDX-License-Identifier: BSD-2-Clause
"""tcp_stream.py OWN PEER FAR [OWN4 PEER4]: bytes through a connection, by every call and flag."""
from tcplib import *

own, peer, far = start()
PACING_RATE = 47
DONTWAIT, PEEK, WAITALL, TRUNC, MORE = (socket.MSG_DONTWAIT, socket.MSG_PEEK, socket.MSG_WAITALL,
                                        socket.MSG_TRUNC, socket.MSG_MORE)


def calls(s, f):
    say("empty", s.send(b""), attempt(s.recv, 10, DONTWAIT), s.recv(0) if ioctl_int(s, FIONREAD) else "-")
    f.send(b"0123456789")
    say("there", arrived(s, 10), s.recv(4, PEEK), s.recv(100, PEEK), s.recv(4), s.recv(100))
    f.send(b"abcde")
    arrived(s, 5)
    say("cut away", raw("recv", s.fileno(), None, 3, TRUNC), s.recv(100), attempt(s.recv, 1, DONTWAIT))
    buf = bytearray(8)
    f.send(b"abcde")
    arrived(s, 5)
    say("MSG_TRUNC with a buffer", s.recv_into(buf, 3, TRUNC), bytes(buf), s.recv(10))
    f.send(b"abc")
    arrived(s, 3)
    later = far.later(f, "sendall", b"defgh")
    say("MSG_WAITALL", s.recv(8, WAITALL), later())
    f.send(b"abc")
    arrived(s, 3)
    say("not waiting", s.recv(8, WAITALL | DONTWAIT))
    f.send(b"abc")
    arrived(s, 3)
    later = far.later(f, "sendall", b"defgh")
    say("peeked", s.recv(8, WAITALL | PEEK), later(), s.recv(8))
    later = far.later(f, "recv", 6, WAITALL)
    say("MSG_MORE", s.send(b"ab", MORE), s.send(b"cd", MORE), s.send(b"ef"), later())
    s.send(b"held", MORE)
    say("MSG_MORE goes in the end", f.take(4))
    s.setsockopt(TCP, socket.TCP_CORK, 1)
    s.send(b"ab")
    s.send(b"cd")
    s.setsockopt(TCP, socket.TCP_CORK, 0)
    say("TCP_CORK", f.recv(10))
    s.setsockopt(TCP, socket.TCP_NODELAY, 1)
    for i in range(5):
        s.send(b"%d" % i)
    say("TCP_NODELAY", f.take(5))
    s.setsockopt(TCP, socket.TCP_NODELAY, 0)
    for i in range(20):
        s.send(b"%02d" % i)
    say("Nagle", f.take(40))


def vectors(s, f):
    say("writev", os.writev(s.fileno(), [b"ab", b"", b"cde"]), f.take(5))
    say("sendmsg", s.sendmsg([b"ab", b"c" * 3000, b"d"]), f.take(3003)[-2:])
    say("write", os.write(s.fileno(), b"written"), f.take(7))
    f.send(b"0123456789")
    arrived(s, 10)
    b1, b2 = bytearray(3), bytearray(20)
    say("readv", os.readv(s.fileno(), [b1, b2]), bytes(b1), bytes(b2[:7]))
    f.send(b"0123456789")
    arrived(s, 10)
    data, cmsgs, flags, name = s.recvmsg(4, 100)
    say("recvmsg", data, cmsgs, flags, name)
    n, _, flags, _ = s.recvmsg_into([bytearray(2), bytearray(10)])
    say("recvmsg", n, flags)
    f.send(b"12345")
    arrived(s, 5)
    say("recvfrom", s.recvfrom(10))
    f.send(b"read")
    say("read", os.read(s.fileno(), 100))
    say("sendto", attempt(s.sendto, b"x", (peer, 9)), f.recv(10))
    say("error queue", attempt(s.recvmsg, 10, 10, socket.MSG_ERRQUEUE | DONTWAIT))
    say("bad", raw("recv", 999, None, 0, 0), raw("send", s.fileno(), None, 5, 0),
        raw("recv", s.fileno(), None, 0, DONTWAIT))
    f.send(b"xyz")
    arrived(s, 3)
    say("bad buffer", raw("recv", s.fileno(), None, 3, DONTWAIT), s.recv(10))
    d = s.dup()
    f.send(b"12")
    arrived(s, 2)
    say("duplicate", d.recv(1), s.recv(1), d.send(b"3"), f.recv(1))
    d.close()
    s.send(b"still open")
    say("after it", f.take(10))


def positions(s, f):
    """preadv2() and pwritev2(): with position -1 they are readv() and writev(); a socket has no other position."""
    fd, b1, b2 = s.fileno(), bytearray(3), bytearray(20)
    NOWAIT, SYNC, APPEND, DSYNC, HIPRI, NOAPPEND, ATOMIC = 8, 4, 16, 2, 1, 32, 64
    say("pwritev2", os.pwritev(fd, [b"ab", b"", b"cde"], -1, 0), f.take(5))
    f.send(b"0123456789")
    arrived(s, 10)
    say("preadv2", os.preadv(fd, [b1, b2], -1, 0), bytes(b1), bytes(b2[:7]))
    say("RWF_NOWAIT", attempt(os.preadv, fd, [b1], -1, NOWAIT), os.pwritev(fd, [b"soon"], -1, NOWAIT), f.take(4))
    for flags in (HIPRI, DSYNC, SYNC, APPEND, ATOMIC, 128, APPEND | NOAPPEND, 1 << 12, 1 << 30):
        say(flags, attempt(os.preadv, fd, [b1], -1, NOWAIT | flags), attempt(os.pwritev, fd, [b"xyz"], -1, flags))
    say("of nothing", attempt(os.preadv, fd, [], -1, 1 << 12), attempt(os.pwritev, fd, [b""], -1, 1 << 12))
    for at in (0, 5, -2):
        say("at", at, attempt(os.preadv, fd, [b1], at, 0), attempt(os.pwritev, fd, [b"x"], at, 0),
            attempt(os.preadv, fd, [b1], at), attempt(os.pwritev, fd, [b"x"], at), attempt(os.pread, fd, 1, at),
            attempt(os.pwrite, fd, b"x", at))
    say("64", raw("preadv64v2", fd, None, 0, ctypes.c_long(-1), 0), raw("pwritev64v2", fd, None, 1025, ctypes.c_long(-1), 0),
        raw("preadv64v2", fd, None, -1, ctypes.c_long(-1), 0))
    s.send(b"end")
    say("all of it", f.take(15))


def queues(s, f):
    s.send(b"x" * 1000)
    say("SIOCOUTQ", acked(s), ioctl_int(s, SIOCOUTQ), ioctl_int(s, SIOCOUTQNSD), len(f.take(1000)))
    f.send(b"y" * 2345)
    say("FIONREAD", arrived(s, 2345), s.recv(2000).count(b"y"), ioctl_int(s, FIONREAD), len(s.recv(999)),
        ioctl_int(s, FIONREAD))
    s.setblocking(False)
    say("nothing", attempt(s.recv, 1), attempt(s.recv, 1, PEEK), attempt(os.read, s.fileno(), 1),
        attempt(os.readv, s.fileno(), [bytearray(1)]))
    s.setblocking(True)
    s.setsockopt(SOL, socket.SO_RCVLOWAT, 100)
    f.send(b"z" * 60)
    arrived(s, 60)
    say("SO_RCVLOWAT", polled(s))
    f.send(b"z" * 60)
    arrived(s, 120)
    say("enough", settles(s, "IN"), len(s.recv(1000)))
    s.setsockopt(SOL, socket.SO_RCVLOWAT, 1)


def full(s, f):
    n = fill(s)
    say("full", n > 20000, attempt(s.send, b"x"), "OUT" in polled(s), attempt(s.sendmsg, [b"x", b"y"]))
    later = far.later(f, "take", n)
    say("room again", settles(s, "OUT"), len(later()) == n)
    s.setblocking(True)


def bulk(s, f):
    later = far.later(f, "swap", 2, 1, 700000)
    say("both ways", swap(s, 1, 2, 700000), later())
    later = far.later(f, "swap", 4, 3, 30000, 30)
    say("small pieces", swap(s, 3, 4, 30000, 30), later())
    later = far.later(f, "drain", 5, 2000000)
    say("out", pour(s, 5, 2000000, 300000), later())
    later = far.later(f, "pour", 6, 2000000)
    say("in", drain(s, 6, 2000000), later())
    later = far.later(f, "drain", 7, 600000, 0.002)
    say("to a slow one", pour(s, 7, 600000), later())
    later = far.later(f, "pour", 8, 600000)
    say("from a fast one", drain(s, 8, 600000, 0.002), later())
    big = pattern(9, 0, 3000000)
    later = far.later(f, "drain", 9, len(big))
    say("in one call", s.send(big), later())
    later = far.later(f, "pour", 10, 500000)
    say("MSG_WAITALL", s.recv(500000, WAITALL) == pattern(10, 0, 500000), later())


for name, s, f in both_ways(own, peer, far, 7000):
    say(name)
    for part in (calls, vectors, positions, queues, full, bulk):
        part(s, f)
    s.close()
    f.close()

# A small window, by small buffers.
s, f = pair(own, peer, far, 7001, lambda s: s.setsockopt(SOL, socket.SO_RCVBUF, 4096))
later = far.later(f, "pour", 1, 100000)
say("small receive buffer", drain(s, 1, 100000, 0.001), later())
s.close()
s, f = pair(own, peer, far, 7001, lambda s: s.setsockopt(SOL, socket.SO_SNDBUF, 4096))
later = far.later(f, "drain", 1, 100000)
say("small send buffer", pour(s, 1, 100000), later())
s.close()
s, f = pair(own, peer, far, 7001, lambda s: s.setsockopt(TCP, socket.TCP_MAXSEG, 300))
later = far.later(f, "swap", 2, 1, 60000)
say("small segments", swap(s, 1, 2, 60000), later())
s.close()

# A thread that blocks in send() is not woken for each segment that leaves.
s, f = pair(own, peer, far, 7001, lambda s: s.setsockopt(SOL, socket.SO_SNDBUF, 100000))
s.setsockopt(SOL, PACING_RATE, 500000)
later = far.later(f, "drain", 1, 500000)
t = threading.Thread(target=s.send, args=(pattern(1, 0, 500000),))
t.start()
queued = []
while t.is_alive():
    queued.append(ioctl_int(s, SIOCOUTQ))
    time.sleep(0.0005)
most = max(queued)
begun = next(i for i, n in enumerate(queued) if n >= 0.95 * most)
say("a third of the send buffer is free before it is filled", min(queued[begun:-1]) < 0.8 * most, later())
s.close()

# Not connected.
s = tcp(six=is6(own))
signal.signal(signal.SIGPIPE, signal.SIG_IGN)
say("unconnected", attempt(s.recv, 1), attempt(s.send, b"x"), attempt(s.recv, 1, DONTWAIT),
    attempt(os.read, s.fileno(), 1), attempt(os.write, s.fileno(), b"x"))
s.close()

# Two threads on one socket.
s, f = pair(own, peer, far, 7002)
later = far.later(f, "swap", 2, 1, 500000)
results = []
t = threading.Thread(target=lambda: results.append(drain(s, 2, 500000)))
t.start()
pour(s, 1, 500000)
t.join()
say("two threads", results, later())
s.close()

if is6(own):
    own4, peer4 = sys.argv[4:6]
    fl = far.tcp(peer4, 7003, 5)
    s = tcp(six=True)
    s.connect(("::ffff:" + peer4, 7003))
    f, _ = fl.accept()
    later = far.later(f, "swap", 2, 1, 300000)
    say("mapped", swap(s, 1, 2, 300000), later())
say("done")
