# SPDX-License-Identifier: BSD-2-Clause
"""edges.py PART OWN4 OWN6 PEER4 PEER6 PORT: UDP calls that programs seldom make. Reflectors are at PORT and PORT + 1
of both peers; no socket is at PORT + 99."""
import ctypes
import fcntl
import os
import time

from netlib import *

own4, own6, peer4, peer6, port = *sys.argv[2:6], int(sys.argv[6])
mapped = "::ffff:" + peer4
libc = ctypes.CDLL(None, use_errno=True)
IP_RECVFRAGSIZE = 25
UDP_CORK, SO_PEEK_OFF, SO_NO_CHECK, SO_RCVMARK, SO_RCVPRIORITY, IP_MINTTL = 1, 42, 11, 75, 82, 21
SIOCGSTAMP, SIOCGSTAMPNS, WRBAND = 0x8906, 0x8907, 0x200
BOTH = ((own4, peer4), (own6, peer6))


class Msghdr(ctypes.Structure):
    _fields_ = [("name", ctypes.c_void_p), ("namelen", ctypes.c_int), ("iov", ctypes.c_void_p),
                ("niov", ctypes.c_size_t), ("control", ctypes.c_void_p),
                ("controllen", ctypes.c_size_t), ("flags", ctypes.c_int)]


class Mmsghdr(ctypes.Structure):
    _fields_ = [("hdr", Msghdr), ("len", ctypes.c_uint)]


def called(n):
    return n if n >= 0 else name_of(ctypes.get_errno())


def messages(n, size=100):
    """n message headers with room for a name and control data; the second value keeps their buffers alive."""
    m, keep = (Mmsghdr * n)(), []
    for x in m:
        buf, name, ctl = (ctypes.create_string_buffer(k) for k in (size, 128, 64))
        iov = (ctypes.c_size_t * 2)(ctypes.addressof(buf), size)
        keep += [buf, name, ctl, iov]
        x.hdr = Msghdr(ctypes.addressof(name), 128, ctypes.addressof(iov), 1, ctypes.addressof(ctl),
                       64, 77)
        x.len = 77
    return m, keep


def recvmmsg(s, n, flags=0, seconds=None):
    m, keep = messages(n)
    left = None if seconds is None else (ctypes.c_long * 2)(seconds, 0)
    got = called(libc.recvmmsg(s.fileno(), m, n, flags, left))
    fields = [(x.len, x.hdr.namelen, x.hdr.controllen, x.hdr.flags)
              for x in m[:got]] if isinstance(got, int) else []
    return got, fields, left and left[0] + left[1] / 1e9


def received(s):
    """Receives without waiting (Python itself waits on a socket with a timeout)."""
    return called(libc.recv(s.fileno(), ctypes.create_string_buffer(100), 100, socket.MSG_DONTWAIT))


def disconnect(s):
    return libc.connect(s.fileno(), struct.pack("H26x", socket.AF_UNSPEC), 28)


def shared(addr, to):
    s = udp(addr, None)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    s.bind((addr, to))
    return s


def who_gets(socks, to):
    """Sends a datagram to our IPv4 address; returns the indexes of the sockets that get it."""
    ctl = udp(own4)
    ctl.sendto(question(to=[own4, to]), (peer4, port))
    ask(ctl, (peer4, port))
    ready = select.select(socks, [], [], 2)[0]  # it was sent before the second answer
    for s in ready:
        s.recv(1000)
    return [socks.index(s) for s in ready]


def until_error(s, seconds=TIMEOUT):
    p = select.poll()
    p.register(s, 0)
    return bool(p.poll(seconds * 1000))


def ports():
    for own, peer in BOTH:
        s = udp(peer, None)
        s.connect((peer, port))
        ask(s, None)
        say("by connect: disconnected", disconnect(s), s.getsockname()[:2])
        say("the next send gets a port:", ask(s, (peer, port))["from"], s.getsockname()[1] != 0,
            s.getsockname()[0])
        s.connect((peer, port + 1))
        say("connected anew", ask(s, None)["port"], s.getsockname()[0])
        s = udp(own)
        s.connect((peer, port))
        disconnect(s)
        say("the address was asked for, the port not:", s.getsockname()[:2])
        say("then", ask(s, (peer, port))["from"], s.getsockname()[0], s.getsockname()[1] != 0)
        s = udp(own, 7101)
        s.connect((peer, port))
        disconnect(s)
        say("both were asked for:", s.getsockname()[:2], ask(s, (peer, port))["from"])
        s.close()
    for connects in (0, 1):
        socks = [shared(own4, 7103) for _ in range(2)]
        if connects:
            socks[1].connect((peer4, port + 1))
        say("the first or the second disconnects", disconnect(socks[connects]), who_gets(socks, 7103))
        for s in socks:
            s.close()
    for first, second in ((own4, "::"), ("::", own4), ("0.0.0.0", "::"), ("::", "0.0.0.0"),
                          (own4, "::ffff:" + own4)):
        socks = [shared(first, 7102), shared(second, 7102)]
        say("for IPv4,", first == own4 and "address" or first, "then",
            second == own4 and "address" or second[:9], who_gets(socks, 7102))
        four = 0 if not is6(first) else 1
        socks.pop(four).close()
        say("without the one of IPv4", who_gets(socks, 7102))
        socks.insert(four, shared(second if four else first, 7102))
        say("and with a new one", who_gets(socks, 7102))
        for s in socks:
            s.close()


def flags():
    for own, peer in BOTH:
        s = udp(own)
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("qq", 3, 0))
        ask(s, (peer, port))
        for flag in (1, 4, 8, 0x10, 0x80, 0x200, 0x800, 0x1000, 0x8000, 0x4000000):
            s.settimeout(TIMEOUT)
            s.sendto(b"question", (peer, port))
            select.select([s], [], [], TIMEOUT)
            s.setblocking(flag in (1, 0x8000))
            say("flag", hex(flag), attempt(s.recv, 100, flag))
        s.close()


def corked():
    for own, peer in BOTH:
        s = udp(own)
        to = (peer, port)
        ask(s, to)
        s.setsockopt(SOL_UDP, UDP_CORK, 1)
        for _ in range(300):
            s.sendto(b"1234", to)
        say("corked: nothing comes", nothing_comes(s))
        s.setsockopt(SOL_UDP, UDP_CORK, 0)
        say("uncorked", len(s.recv(2000)), nothing_comes(s, 0.1))
        s.setsockopt(SOL_UDP, UDP_CORK, 1)
        say("the first is too long", attempt(s.sendto, bytes(70000), to))
        say("then", attempt(s.sendto, b"1234", to), attempt(s.send, b"567"), nothing_comes(s))
        s.setsockopt(SOL_UDP, UDP_CORK, 0)
        say("uncorked", attempt(s.recv, 2000))
        say("MSG_MORE", s.sendto(b"12", socket.MSG_MORE, to), s.sendto(b"34", socket.MSG_MORE, to),
            attempt(s.send, b"5"), s.recv(100))
        m, keep = messages(1, 2)
        m[0].hdr = Msghdr(None, 0, m[0].hdr.iov, 1, None, 0, 0)
        say("ended by sendmmsg", s.sendto(b"12", socket.MSG_MORE, to),
            called(libc.sendmmsg(s.fileno(), m, 1, 0)), s.recv(100))
        say("ended by the option", s.sendto(b"12", socket.MSG_MORE, to),
            s.setsockopt(SOL_UDP, UDP_CORK, 0), s.recv(100), s.sendto(b"x", to), s.recv(100))
        s.close()


def shut():
    for own, peer in BOTH:
        s = udp(own)
        s.connect((peer, port))
        ask(s, None)
        s.shutdown(socket.SHUT_RD)
        s.setblocking(False)
        say("shut: recv", attempt(s.recv, 100), recvmmsg(s, 4, socket.MSG_DONTWAIT)[:2])
        s.setblocking(True)
        say("blocking", s.recv(100), s.recvmsg(100, 100), recvmmsg(s, 2)[:2])
        name, size = ctypes.create_string_buffer(128), ctypes.c_int(128)
        say("recvfrom", libc.recvfrom(s.fileno(), name, 10, 0, name, ctypes.byref(size)), size.value)
        for what in ("what comes is taken", "again, connected anew"):
            s.send(b"still there")
            s.setblocking(False)
            end = time.monotonic() + TIMEOUT
            while (got := attempt(s.recv, 100)) == "EAGAIN" and time.monotonic() < end:
                pass
            say(what, got)
            s.connect((peer, port))
        p = select.poll()
        p.register(s)
        say("poll", hex(p.poll(0)[0][1]))
        s.close()


def families():
    for level, name, v in ((socket.IPPROTO_IPV6, IPV6_TCLASS, 0x28), (socket.IPPROTO_IP, IP_TOS, 0x48),
                           (socket.IPPROTO_IPV6, IPV6_UNICAST_HOPS, 9), (socket.IPPROTO_IP, IP_TTL, 7)):
        s = udp("::")
        s.setsockopt(level, name, v)
        for _ in range(2):
            say("option", level, name, [(d["ttl"], d["tos"]) for d in
                                        (ask(s, (to, port)) for to in (mapped, peer6))])
        s.close()
    s = udp("::")
    for level, name, v in ((socket.IPPROTO_IPV6, IPV6_TCLASS, 0x20), (socket.IPPROTO_IP, IP_TOS, 0x10),
                           (socket.IPPROTO_IPV6, IPV6_UNICAST_HOPS, 3), (socket.IPPROTO_IP, IP_TTL, 5)):
        s.setsockopt(level, name, v)
    say("each its own", [(d["ttl"], d["tos"]) for d in (ask(s, (to, port)) for to in (mapped, peer6))])
    s.setsockopt(socket.IPPROTO_IP, IP_TTL, -1)
    s.setsockopt(socket.IPPROTO_IPV6, IPV6_UNICAST_HOPS, -1)
    s.setsockopt(socket.IPPROTO_IPV6, IPV6_TCLASS, -1)
    say("the defaults", [(d["ttl"], d["tos"]) for d in (ask(s, (to, port)) for to in (mapped, peer6))])
    s.close()
    s = udp("::", None)
    s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
    say("IPv6 only: to IPv6", ask(s, (peer6, port))["port"], "to IPv4",
        attempt(s.sendto, b"x", (mapped, port)), attempt(s.sendto, b"x", (mapped, port)))
    s.close()
    for addr in ("::ffff:0.0.0.0", "::ffff:" + own4):
        s = udp(addr)
        say("bound to IPv4: to IPv4", ask(s, (mapped, port))["port"], "to IPv6",
            attempt(s.sendto, b"x", (peer6, port)))
        s.close()


def errors():
    for own, peer in BOTH:
        s = udp(own)
        s.connect((peer, port + 99))
        s.send(b"x")
        say("an error waits", until_error(s))
        say("too long", attempt(s.send, bytes(70000)), "port 0", attempt(s.sendto, b"x", (peer, 0)),
            "short name", called(libc.sendto(s.fileno(), b"x", 1, 0, b"\2\0ab", 3)))
        say("wrong control data", attempt(s.sendmsg, [b"x"], [(socket.IPPROTO_IP, 2, bytes(2)),
                                                              (socket.IPPROTO_IPV6, 52, bytes(2))]))
        say("it waits still", attempt(s.send, b"x"))
        say("and is gone", until_error(s, 0.5), received(s), attempt(s.sendto, b"x", (peer, port)))
        disconnect(s)
        s.connect((peer, port + 99))
        s.send(b"x")
        say("recvmmsg of nothing", until_error(s), recvmmsg(s, 0)[0], recvmmsg(s, 0)[0])
        s.close()


def options():
    for own, peer in BOTH:
        s = udp(own)
        say("asked before", attempt(fcntl.ioctl, s, SIOCGSTAMP, bytes(16)))
        ask(s, (peer, port))
        for request, unit in ((SIOCGSTAMP, 1e6), (SIOCGSTAMPNS, 1e9)):
            sec, part = struct.unpack("qq", fcntl.ioctl(s, request, bytes(16)))
            say("stamp", abs(sec + part / unit - time.time()) < 30, part < unit, ask(s, (peer, port))["port"])
        s.close()
        s = udp(own)
        for text in (b"abcde", b"fghij"):
            s.sendto(text, (peer, port))
        while attempt(s.recvmsg, 1, 0, socket.MSG_PEEK | socket.MSG_DONTWAIT) == "EAGAIN":
            time.sleep(0.01)
        time.sleep(0.1)
        s.setsockopt(socket.SOL_SOCKET, SO_PEEK_OFF, 2)
        say("SO_PEEK_OFF", [len(attempt(s.recv, 2000, flags | socket.MSG_DONTWAIT)) for flags in (2, 2, 0, 2, 0, 2)])
        s.close()
        s = udp(own)
        ask(s, (peer, port))
        say("stamp of one already read", len(attempt(fcntl.ioctl, s, SIOCGSTAMPNS, bytes(16))),
            ask(s, (peer, port))["port"])
        s.close()
        s = udp(own)
        for _ in range(2):
            s.sendto(question(), (peer, port))
        say("two wait", len(select.select([s], [], [], TIMEOUT)[0]), time.sleep(0.1),
            attempt(fcntl.ioctl, s, SIOCGSTAMP, bytes(16)), s.recv(1000)[:1],
            len(attempt(fcntl.ioctl, s, SIOCGSTAMP, bytes(16))), s.recv(1000)[:1])
        s.close()
        for name in (SO_RCVMARK, SO_RCVPRIORITY):
            s = udp(own)
            say("option", name, attempt(s.setsockopt, socket.SOL_SOCKET, name, 1))
            s.sendto(question(), (peer, port))
            say(recv_meta(s)[1])
            s.close()
        p, e, s = select.poll(), select.epoll(), udp(own)
        p.register(s, WRBAND)
        e.register(s, WRBAND)
        say("WRBAND", hex(p.poll(1000)[0][1]) if p.poll(1000) else "never",
            [hex(x[1]) for x in e.poll(1)])
        s.close()
    s = udp(own4)
    s.setsockopt(socket.IPPROTO_IP, IP_MINTTL, 200)
    s.sendto(question(ttl=60, size=5), (peer4, port))
    say("IP_MINTTL is TCP's:", attempt(s.recv, 100))


def calls():
    for own, peer in BOTH:
        s = udp(own)
        ask(s, (peer, port))
        to = (struct.pack("=H", s.family) + struct.pack(">H", port) +
              (bytes(4) if is6(peer) else b"") + socket.inet_pton(s.family, peer)).ljust(200, b"\0")
        for size in (28, 128, 129, 200, -1):
            n = called(libc.sendto(s.fileno(), b"12345", 5, 0, to, size))
            say("a name of", size, n, n == 5 and s.recv(100))
        m, keep = messages(1, 5)
        name = ctypes.create_string_buffer(to, 200)
        for size in (128, 200, -1):
            m[0].hdr = Msghdr(ctypes.addressof(name), size, m[0].hdr.iov, 1, None, 0, 0)
            n = called(libc.sendmsg(s.fileno(), m, 0))
            say("sendmsg: a name of", size, n, n == 5 and len(s.recv(100)))
        s.connect((peer, port))
        say("many pieces", attempt(s.sendmsg, [b"x"] * 1025), attempt(s.sendmsg, [b"x"] * 1024),
            len(s.recv(2000)))
        s.send(bytes(50))
        select.select([s], [], [], TIMEOUT)
        say("of a receiver", attempt(s.recvmsg_into, [bytearray(1)] * 1025), len(s.recv(100)))
        for size in (-1, 4):
            s.send(b"12345")
            select.select([s], [], [], TIMEOUT)
            n = ctypes.c_int(size)
            say("recvfrom, room for a name", size, called(libc.recvfrom(
                s.fileno(), m, 10, 0, name, ctypes.byref(n))), n.value, nothing_comes(s, 0.05))
        s.send(b"12345")
        got, fields, left = recvmmsg(s, 1, 0x10000, 100) if select.select([s], [], [], TIMEOUT)[0] else 0
        say("recvmmsg", got, fields, "time left:", 0 < left < 100)
        say("of nothing", recvmmsg(s, 1, socket.MSG_DONTWAIT, 100))
        s.setsockopt(SOL_UDP, UDP_SEGMENT, 100)
        s.setsockopt(socket.SOL_SOCKET, SO_NO_CHECK, 1)
        s.setsockopt(SOL_UDP, 101, 1)  # UDP_NO_CHECK6_TX
        say("segments without a checksum", attempt(s.send, bytes(250)), attempt(s.send, bytes(50)))
        s.close()


def by_kernel(s):
    s.setsockopt(socket.IPPROTO_IP, IP_RECVFRAGSIZE, 1)


def in_child(work):
    pid = os.fork()
    if not pid:
        work()
        os._exit(0)
    os.waitpid(pid, 0)


def by_child(s):
    in_child(lambda: received(s))


def children():
    """Changes that a child makes to a shared socket hold for its parent, too."""
    for own, peer in BOTH:
        level, ttl = (socket.IPPROTO_IP, 12) if own == own4 else (socket.IPPROTO_IPV6, 51)
        s = udp(own)
        in_child(lambda: s.connect((peer, port + 1)))
        say("connected", s.getpeername()[1] - port, who_gets([s], s.getsockname()[1]) if own == own4 else "")
        s.send(b"hello")
        say("to whom", s.recvfrom(100)[1][1] - port)
        in_child(lambda: disconnect(s))
        say("dissolved", attempt(s.send, b"hello"))
        s.sendto(b"hello", (peer, port))
        s.recv(100)
        s.close()
        s = udp(own)
        in_child(lambda: s.setsockopt(level, ttl, 1))
        s.sendto(b"hello", (peer, port))
        select.select([s], [], [], TIMEOUT)
        say("with control data", [c[:2] for c in s.recvmsg(100, 100)[1]])
        in_child(lambda: attempt(s.shutdown, socket.SHUT_WR))
        say("shut", attempt(s.sendto, b"hello", (peer, port)))
        s.close()


def siblings():
    """Some of the sockets on one port are the kernel's."""
    to = 7200
    for how in by_kernel, by_child:
        for names, which in ((("0.0.0.0", own4), 1), ((own4, own4), 1), ((own4, "0.0.0.0"), 1),
                             ((own4, own4, own4), 0), (("0.0.0.0", "connected"), 1), ((own4, "connected", own4), 1)):
            to += 1
            socks = []
            for name in names:
                socks.append(shared(own4 if name == "connected" else name, to))
                if name == "connected":
                    socks[-1].connect((peer4, port))
            how(socks[which])
            say(how.__name__, names, which, "gets it:", who_gets(socks, to))
            late = shared(own4, to)
            say("and one that comes later", who_gets(socks + [late], to))
            socks[which].close()
            del socks[which]
            say("after the end of that", who_gets(socks + [late], to))
            for s in socks + [late]:
                s.close()


globals()[sys.argv[1]]()
