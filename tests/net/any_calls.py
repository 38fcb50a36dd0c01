#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""any_calls.py peer CONTROL OWN4 OWN6 PEER4 PEER6
any_calls.py subject CONTROL OWN4 OWN6 PEER4 PEER6 BASE FIRST SEEDS [SETTLE_MS]

Programs drawn by a seed, of any socket calls in any order, with right and wrong arguments. The subject makes the
calls and prints what each gave. A peer, by the kernel, does what the subject tells it over CONTROL, a Unix socket.
After each step both wait until the packets have come, so that the same seed prints the same, whether the subject's
sockets are the kernel's or not. Each seed has twenty ports of its own from BASE on; they are printed without BASE."""
import ctypes
import errno
import os
import random
import select
import socket
import struct
import sys
import time
import zlib

role, control, own4, own6, peer4, peer6 = sys.argv[1:7]
base0, first, seeds = map(int, sys.argv[7:10] or (0, 0, 0))
settle = int(sys.argv[10]) / 1000 if len(sys.argv) > 10 else 0.004
STEPS = 60
PORTS = 20
A = socket
c = ctypes.CDLL(None, use_errno=True)


# The peer -------------------------------------------------------------------------------------------
class Peer:
    """Sockets of the kernel's, all nonblocking; each command has an answer of a line."""

    def __init__(self):
        self.listeners, self.dgrams, self.conns = {}, {}, []

    def begin(self, port):
        for s in [*self.listeners.values(), *self.dgrams.values(), *self.conns]:
            s.close()
        self.conns = []
        for fam, addr in ((A.AF_INET, own4), (A.AF_INET6, own6)):
            for kind, table, at in ((A.SOCK_STREAM, self.listeners, 0), (A.SOCK_DGRAM, self.dgrams, 1)):
                s = A.socket(fam, kind)
                s.setsockopt(A.SOL_SOCKET, A.SO_REUSEADDR, 1)
                s.bind((addr, port + at))
                if kind == A.SOCK_STREAM:
                    s.listen(16)
                s.setblocking(False)
                table[fam] = s

    def conn(self, n):
        return self.conns[n % len(self.conns)]

    def do(self, op, *a):
        if op == "begin":
            return self.begin(*a)
        if op == "accept":
            s = self.listeners[a[0]].accept()[0]
        elif op == "connect":
            s = A.socket(a[0], A.SOCK_STREAM)
        elif op == "sendto":
            return self.dgrams[a[0]].sendto(bytes(a[2]), tuple(a[1]))
        elif op == "recvfrom":
            return len(self.dgrams[a[0]].recvfrom(70000)[0])
        elif not self.conns:
            return "none"
        elif op == "send":
            return self.conn(a[0]).send(b"p" * a[1])
        elif op == "urgent":
            return self.conn(a[0]).send(b"u", A.MSG_OOB)
        elif op == "recv":
            return zlib.crc32(self.conn(a[0]).recv(1 << 20))
        elif op == "shut":
            return self.conn(a[0]).shutdown(A.SHUT_WR)
        elif op in ("close", "reset"):
            s = self.conn(a[0])
            self.conns.remove(s)
            if op == "reset":
                s.setsockopt(A.SOL_SOCKET, A.SO_LINGER, struct.pack("ii", 1, 0))
            return s.close()
        s.setblocking(False)
        self.conns.append(s)
        if op == "connect":
            s.connect_ex(tuple(a[1]))


def peer():
    p = Peer()
    srv = A.socket(A.AF_UNIX, A.SOCK_SEQPACKET)
    srv.bind(control)
    srv.listen(4)
    while True:
        s = srv.accept()[0]
        while msg := s.recv(100000):
            try:
                answer = p.do(*eval(msg))
            except OSError as e:
                answer = errno.errorcode[e.errno]
            s.send(repr(answer).encode())


# The subject ----------------------------------------------------------------------------------------
LEVELS = {
    A.SOL_SOCKET: {
        "TYPE": 3, "PROTOCOL": 38, "DOMAIN": 39, "ERROR": 4, "ACCEPTCONN": 30, "REUSEADDR": 2, "REUSEPORT": 15,
        "KEEPALIVE": 9, "OOBINLINE": 10, "DONTROUTE": 5, "RCVLOWAT": 18, "SNDLOWAT": 19, "PRIORITY": 12,
        "TIMESTAMP": 29, "TIMESTAMPNS": 35, "BROADCAST": 6, "MARK": 36, "PEEK_OFF": 42, "NO_CHECK": 11,
        "LOCK_FILTER": 44, "RXQ_OVFL": 40, "ZEROCOPY": 60, "PASSCRED": 16, "BUSY_POLL": 46, "SELECT_ERR_QUEUE": 45,
        "MAX_PACING_RATE": 47, "PREFER_BUSY_POLL": 69, "TXREHASH": 74, "DEBUG": 1, "BSDCOMPAT": 14,
    },
    A.IPPROTO_IP: {
        "TOS": 1, "TTL": 2, "RECVOPTS": 6, "PKTINFO": 8, "MTU_DISCOVER": 10, "RECVERR": 11, "RECVTTL": 12,
        "RECVTOS": 13, "MTU": 14, "FREEBIND": 15, "TRANSPARENT": 19, "RECVORIGDSTADDR": 20, "MINTTL": 21,
        "NODEFRAG": 22, "CHECKSUM": 23, "BIND_ADDRESS_NO_PORT": 24, "RECVFRAGSIZE": 25, "MULTICAST_TTL": 33,
        "MULTICAST_LOOP": 34, "MULTICAST_ALL": 49, "UNICAST_IF": 50, "LOCAL_PORT_RANGE": 51, "ROUTER_ALERT": 5,
    },
    A.IPPROTO_IPV6: {
        "V6ONLY": 26, "UNICAST_HOPS": 16, "MULTICAST_HOPS": 18, "MULTICAST_LOOP": 19, "MTU_DISCOVER": 23, "MTU": 24,
        "RECVERR": 25, "RECVPKTINFO": 49, "RECVHOPLIMIT": 51, "RECVTCLASS": 66, "TCLASS": 67, "DONTFRAG": 62,
        "FREEBIND": 78, "TRANSPARENT": 75, "AUTOFLOWLABEL": 70, "MINHOPCOUNT": 73, "FLOWINFO_SEND": 33,
        "RECVORIGDSTADDR": 74, "MULTICAST_ALL": 29, "RECVFRAGSIZE": 77, "FLOWINFO": 11,
    },
    A.IPPROTO_TCP: {
        "NODELAY": 1, "MAXSEG": 2, "KEEPIDLE": 4, "KEEPINTVL": 5, "KEEPCNT": 6, "SYNCNT": 7, "LINGER2": 8,
        "USER_TIMEOUT": 18, "NOTSENT_LOWAT": 25, "FASTOPEN": 23, "INQ": 36, "THIN_LINEAR": 16,
        "THIN_DUPACK": 17, "SAVE_SYN": 27, "FASTOPEN_NO_COOKIE": 34, "TX_DELAY": 37, "REPAIR_QUEUE": 20,
    },
    A.IPPROTO_UDP: {"CORK": 1, "SEGMENT": 103, "GRO": 104, "NO_CHECK6_TX": 101, "NO_CHECK6_RX": 102, "ENCAP": 100},
    77: {"none": 1},
}
# Set, these delay or drop what is sent by time, or are refused by design.
ONLY_READ = {"RCVLOWAT", "TX_DELAY", "MINTTL", "MINHOPCOUNT", "BUSY_POLL", "PREFER_BUSY_POLL", "MAX_PACING_RATE",
             "DEBUG", "ENCAP", "REPAIR_QUEUE", "LOCK_FILTER", "FASTOPEN", "SAVE_SYN", "MARK", "TRANSPARENT"}
VALUES = (0, 1, 1, 1, 2, 3, 5, 16, 64, 200, 255, 256, 1000, 65535, 65536, 1 << 20, -1, -2, -(1 << 31))
LENS = (4, 4, 4, 4, 4, 4, 1, 0, 2, 3, 8, 16, -1)
BAD = 16  # an address at which nothing is mapped
MSG = {"PEEK": A.MSG_PEEK, "TRUNC": A.MSG_TRUNC, "OOB": A.MSG_OOB, "WAITALL": A.MSG_WAITALL, "ERRQUEUE": 0x2000,
       "CMSG_CLOEXEC": 0x40000000, "odd": 0x400000}
SEND = {"MORE": A.MSG_MORE, "OOB": A.MSG_OOB, "EOR": A.MSG_EOR, "CONFIRM": A.MSG_CONFIRM, "DONTROUTE": A.MSG_DONTROUTE,
        "ZEROCOPY": 0x4000000, "PROBE": 0x10, "odd": 0x400000}


class iovec(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("len", ctypes.c_size_t)]


class msghdr(ctypes.Structure):
    _fields_ = [("name", ctypes.c_void_p), ("namelen", ctypes.c_uint), ("iov", ctypes.c_void_p),
                ("niov", ctypes.c_size_t), ("control", ctypes.c_void_p), ("controllen", ctypes.c_size_t),
                ("flags", ctypes.c_int)]


class mmsghdr(ctypes.Structure):
    _fields_ = [("hdr", msghdr), ("len", ctypes.c_uint)]


def call(name, *args):
    ctypes.set_errno(0)
    r = getattr(c, name)(*args)
    return r if r >= 0 else "-" + errno.errorcode.get(ctypes.get_errno(), "?")


class Run:
    def __init__(self, seed, ctl):
        self.seed, self.r, self.ctl = seed, random.Random(seed), ctl
        self.base = base0 + (seed - first) * PORTS
        self.fds = []  # numbers; those that were closed stay for a while, to be used wrongly
        self.buf = ctypes.create_string_buffer(1 << 17)
        self.sent = 0
        self.ep = call("epoll_create1", 0)
        self.fam = int(self.r.choice((A.AF_INET, A.AF_INET6)))
        self.say(0, "begin", self.ep, self.peer("begin", self.base))

    def say(self, step, what, *result):
        print(f"{self.seed}.{step} {what} -> {' '.join(map(str, result))}", flush=True)

    def peer(self, *cmd):
        self.ctl.send(repr(cmd).encode())
        return self.ctl.recv(1000).decode()

    # The arguments are drawn from these.
    def fd(self):
        if not self.fds or self.r.random() < 0.01:
            return self.r.choice((-1, 200, self.ep))
        return self.r.choice(self.fds[-6:])

    def flags(self, table, some=0.25):
        f, names = 0, []
        if self.r.random() < some:
            for n in self.r.sample(sorted(table), self.r.choice((1, 1, 2))):
                f |= table[n]
                names.append(n)
        return f | A.MSG_DONTWAIT, "|".join(names)

    def address(self, own=False, dgram=False):
        """Returns bytes, their length, and what they are."""
        r, fam, odd = self.r, self.fam, self.r.random()
        v4, v6 = (own4, own6) if own else (peer4, peer6)
        at = r.choice((3, 4, 5, 0, 3)) if own else r.choice((0, 0, 0, 1, 2) if not dgram else (1, 1, 1, 2, 0))
        port = 0 if own and at == 0 else self.base + at
        if odd < 0.05:
            fam = A.AF_INET if fam == A.AF_INET6 else A.AF_INET6
        host = v4 if fam == A.AF_INET else v6
        if own and r.random() < 0.4:
            host = "0.0.0.0" if fam == A.AF_INET else "::"
        if odd > 0.97:
            host = r.choice(("127.0.0.1", "255.255.255.255", "0.0.0.0", "224.0.0.9")) if fam == A.AF_INET else \
                r.choice(("::1", "::", "ff02::9", "::ffff:" + v4))
        if fam == A.AF_INET:
            raw = struct.pack("=H", fam) + struct.pack("!H", port) + A.inet_pton(fam, host) + bytes(8)
        else:
            raw = struct.pack("=H", fam) + struct.pack("!HI", port, 0) + A.inet_pton(fam, host) + bytes(4)
        n = len(raw)
        if 0.05 <= odd < 0.08:
            raw, host = b"\0\0" + raw[2:], "unspec " + host
        elif 0.08 <= odd < 0.10:
            n = r.choice((0, 1, 2, 8, 15, 24, 128, 200, -1))
        name = f"{host}:{at} len {n}"
        return raw.ljust(256, b"\0"), n, name.replace(own4, "own").replace(own6, "own").replace(peer4, "peer").replace(
            peer6, "peer")

    def name(self, raw, n):
        """An address that a call returned, as text."""
        if n < 8 or raw[:2] == b"\0\0":
            return f"{n}:{raw[:2].hex()}"
        fam, port = struct.unpack("=H", raw[:2])[0], struct.unpack("!H", raw[2:4])[0]
        host = raw[4:8] if fam == A.AF_INET else raw[8:24]
        at = port - self.base if self.base <= port < self.base + PORTS else port and "some"
        return f"{n}:{fam}:{host.hex()}:{at}"

    def data(self, most=3000):
        n = self.r.choice((0, 1, 5, 100, 1000, 1472, 1473, most))
        if self.sent + n > 30000:
            n = 1
        self.sent += n
        raw = bytes((i * 7 + self.sent) & 255 for i in range(64)) * (n // 64 + 1)
        ctypes.memmove(self.buf, raw, n)
        return n

    # Calls
    def do_socket(self):
        kind = self.r.choice((A.SOCK_STREAM, A.SOCK_DGRAM))
        fl = self.r.choice((0, A.SOCK_NONBLOCK, A.SOCK_CLOEXEC))
        proto = self.r.choice((0, 0, 0, 0, A.IPPROTO_TCP, A.IPPROTO_UDP))
        fd = call("socket", self.fam, kind | fl, proto)
        if isinstance(fd, int):
            self.fds.append(fd)
            # A call that blocks does so for a moment only.
            tv = struct.pack("qq", 0, 30000)
            for opt in (A.SO_RCVTIMEO, A.SO_SNDTIMEO):
                c.setsockopt(fd, A.SOL_SOCKET, opt, tv, 16)
        return f"socket {kind} {fl} {proto}", fd

    def do_bind(self):
        fd, (raw, n, what) = self.fd(), self.address(own=True)
        return f"bind {fd} {what}", call("bind", fd, raw, n)

    def do_connect(self):
        fd = self.fd()
        raw, n, what = self.address(dgram=self.r.random() < 0.4)
        return f"connect {fd} {what}", call("connect", fd, raw, n)

    def do_listen(self):
        fd, n = self.fd(), self.r.choice((0, 1, 5, -1, 100000))
        return f"listen {fd} {n}", call("listen", fd, n)

    def do_accept(self):
        fd, fl = self.fd(), self.r.choice((0, A.SOCK_NONBLOCK, 5))
        raw, n = ctypes.create_string_buffer(128), ctypes.c_int(self.r.choice((128, 128, 16, 4, 0)))
        new = call("accept4", fd, raw, ctypes.byref(n), fl)
        if isinstance(new, int):
            self.fds.append(new)
        return f"accept {fd} {fl}", new, self.name(raw.raw, n.value) if isinstance(new, int) else ""

    def do_send(self):
        fd, (fl, names), n = self.fd(), self.flags(SEND), self.data()
        return f"send {fd} {n} {names}", call("send", fd, self.buf, n, fl)

    def do_sendto(self):
        fd, (fl, names), n = self.fd(), self.flags(SEND), self.data()
        raw, alen, what = self.address(dgram=True)
        return f"sendto {fd} {n} {names} {what}", call("sendto", fd, self.buf, n, fl, raw, alen)

    def msg(self, n, raw=None, alen=0):
        k = self.r.choice((0, 1, 1, 2, 3))
        parts, at = [], 0
        for i in range(k):
            size = n - at if i == k - 1 else self.r.randint(0, n - at)
            parts.append(iovec(ctypes.addressof(self.buf) + at, size))
            at += size
        iov = (iovec * max(k, 1))(*parts)
        m = msghdr(ctypes.cast(raw, ctypes.c_void_p) if raw else None, alen, ctypes.cast(iov, ctypes.c_void_p), k)
        m.keep = iov, raw
        return m, k

    def do_sendmsg(self):
        fd, (fl, names), n = self.fd(), self.flags(SEND), self.data()
        raw, alen, what = self.address(dgram=True)
        to = self.r.random() < 0.5
        m, k = self.msg(n, ctypes.create_string_buffer(raw, 256) if to else None, alen if to else 0)
        if self.r.random() < 0.3:
            level, kind, val = self.r.choice(((0, 1, 4), (0, 2, 9), (41, 67, 8), (17, 103, 500), (1, 99, 1), (0, 77, 1)))
            raw_c = struct.pack("=qiii", 20, level, kind, val).ljust(24, b"\0")
            m.keep += (ctypes.create_string_buffer(raw_c, 24),)
            m.control, m.controllen = ctypes.cast(m.keep[-1], ctypes.c_void_p), self.r.choice((24, 24, 20, 16, 8))
            names += f" cmsg {level}.{kind}={val}/{m.controllen}"
        return f"sendmsg {fd} {n}/{k} {names} {what if to else ''}", call("sendmsg", fd, ctypes.byref(m), fl)

    def got(self, ret):
        n = ret if isinstance(ret, int) else 0
        return f"{zlib.crc32(self.buf.raw[:min(n, 1 << 17)]):08x}" if n else ""

    def do_recv(self):
        fd, (fl, names), n = self.fd(), self.flags(MSG), self.r.choice((0, 1, 10, 2000, 65536))
        ret = call("recv", fd, self.buf, n, fl)
        return f"recv {fd} {n} {names}", ret, self.got(ret)

    def do_recvfrom(self):
        fd, (fl, names), n = self.fd(), self.flags(MSG), self.r.choice((0, 10, 2000, 65536))
        raw, alen = ctypes.create_string_buffer(128), ctypes.c_int(self.r.choice((128, 128, 8, 0, -1)))
        ret = call("recvfrom", fd, self.buf, n, fl, raw, ctypes.byref(alen))
        return f"recvfrom {fd} {n} {names}", ret, self.got(ret), self.name(raw.raw, alen.value)

    def do_recvmsg(self):
        fd, (fl, names), n = self.fd(), self.flags(MSG, 0.4), self.r.choice((0, 10, 2000, 65536))
        m, k = self.msg(n, ctypes.create_string_buffer(128), 128)
        ctl = ctypes.create_string_buffer(256)
        m.control, m.controllen = ctypes.cast(ctl, ctypes.c_void_p), self.r.choice((256, 256, 40, 20, 0))
        ret = call("recvmsg", fd, ctypes.byref(m), fl)
        if not isinstance(ret, int):
            return f"recvmsg {fd} {n}/{k} {names}", ret
        kinds, at = [], 0
        while at + 16 <= m.controllen:
            size, level, kind = struct.unpack_from("=qii", ctl, at)
            if size < 16:
                break
            # (A time stamp's value and an error's data differ from run to run.)
            text = ctl.raw[at + 16:at + min(size, m.controllen - at)] if level != 1 and size < 40 else b""
            kinds.append(f"{level}.{kind}/{size}:{text.hex()}")
            at += (size + 7) & ~7
        name = self.name(m.keep[1].raw, m.namelen) if m.namelen else 0
        return f"recvmsg {fd} {n}/{k} {names}", ret, self.got(ret), name, hex(m.flags), m.controllen, kinds

    def do_mmsg(self):
        fd, k, n = self.fd(), self.r.choice((0, 1, 2, 3)), self.data(500)
        out = self.r.random() < 0.5
        k = min(k, 1) if out else k  # (an error may come between two)
        ms = [self.msg(n)[0] for _ in range(k)]
        arr = (mmsghdr * max(k, 1))(*[mmsghdr(m, 0) for m in ms])
        if out:
            ret = call("sendmmsg", fd, arr, k, A.MSG_DONTWAIT)
        else:
            ret = call("recvmmsg", fd, arr, k, A.MSG_DONTWAIT, None)
        done = ret if isinstance(ret, int) else 0
        return f"{'send' if out else 'recv'}mmsg {fd} {k} {n}", ret, [arr[i].len for i in range(done)]

    def do_rw(self):
        fd, n, name = self.fd(), self.data(), self.r.choice(("read", "write", "readv", "writev", "preadv2", "pwritev2"))
        if name in ("readv", "writev", "preadv2", "pwritev2"):
            m, k = self.msg(n)
            more = (ctypes.c_long(-1), self.r.choice((8, 0, 1, 64))) if name[0] == "p" else ()
            if more and more[1] != 8:
                c.fcntl(fd, 4, os.O_NONBLOCK)
            ret = call(name, fd, m.keep[0], k, *more)
            return f"{name} {fd} {n}/{k} {more[1:]}", ret, self.got(ret) if "r" == name.lstrip("p")[0] else ""
        ret = call(name, fd, self.buf, n)
        return f"{name} {fd} {n}", ret, self.got(ret) if name == "read" else ""

    def do_wrong(self):
        """Addresses at which nothing is, and lengths that cannot be."""
        fd, r = self.fd(), self.r
        name, args = r.choice((
            ("send", (BAD, 10, A.MSG_DONTWAIT)), ("recv", (BAD, 10, A.MSG_DONTWAIT)), ("sendmsg", (BAD, A.MSG_DONTWAIT)),
            ("recvmsg", (BAD, A.MSG_DONTWAIT)), ("connect", (BAD, 16)), ("bind", (BAD, 28)), ("getsockname", (BAD, BAD)),
            ("getpeername", (self.buf, BAD)), ("getsockopt", (1, 4, BAD, BAD)), ("setsockopt", (1, 2, BAD, 4)),
            ("sendto", (self.buf, 5, A.MSG_DONTWAIT, BAD, 16)), ("read", (BAD, 5)), ("write", (BAD, 5)),
            ("writev", (BAD, 1)), ("readv", (self.buf, 1025)), ("writev", (self.buf, -1)), ("accept4", (BAD, BAD, 0)),
            ("lseek", (0, 0)), ("ftruncate", (0,)), ("fsync", ()), ("pread64", (self.buf, 5, 0)), ("fchdir", ()),
            ("ioctl", (0x541B, BAD)), ("ioctl", (0x8905, BAD)), ("ioctl", (0x12345678, self.buf)), ("shutdown", (7,)),
            ("sendmmsg", (BAD, 2, A.MSG_DONTWAIT)), ("getdents64", (self.buf, 100)), ("flock", (1,)),
            ("recvmmsg", (BAD, 2, A.MSG_DONTWAIT, None)), ("fallocate", (0, 0, 10)),
        ))
        args = [ctypes.c_void_p(a) if a == BAD and a is not True else a for a in args]
        return f"wrong {name} {fd} {[a if isinstance(a, int) else '*' for a in args]}", call(name, fd, *args)

    def option(self):
        level = self.r.choice(sorted(LEVELS))
        name = self.r.choice(sorted(LEVELS[level]))
        return level, name, LEVELS[level][name]

    def do_get(self):
        fd, (level, name, opt) = self.fd(), self.option()
        n, raw = ctypes.c_int(self.r.choice(LENS)), ctypes.create_string_buffer(b"\xaa" * 32, 32)
        asked = n.value
        ret = call("getsockopt", fd, level, opt, raw, ctypes.byref(n))
        return f"get {fd} {level}.{name} len {asked}", ret, n.value, raw.raw[:16].hex()

    def do_set(self):
        level, name, opt = self.option()
        while name in ONLY_READ:
            level, name, opt = self.option()
        fd, val, n = self.fd(), self.r.choice(VALUES), self.r.choice(LENS)
        if level == A.IPPROTO_TCP and name in ("LINGER2", "USER_TIMEOUT", "KEEPIDLE", "KEEPINTVL"):
            val = 60 if val > 0 else val
        ret = call("setsockopt", fd, level, opt, struct.pack("=i", val).ljust(32, b"\0"), n)
        back, m = ctypes.create_string_buffer(32), ctypes.c_int(4)
        again = call("getsockopt", fd, level, opt, back, ctypes.byref(m))
        return f"set {fd} {level}.{name}={val} len {n}", ret, again, m.value, back.raw[:8].hex()

    def do_name(self):
        fd, name = self.fd(), self.r.choice(("getsockname", "getpeername"))
        raw, n = ctypes.create_string_buffer(128), ctypes.c_int(self.r.choice((128, 128, 128, 16, 3, 0, -1)))
        asked = n.value
        ret = call(name, fd, raw, ctypes.byref(n))
        return f"{name} {fd} {asked}", ret, self.name(raw.raw, n.value) if asked >= 16 else n.value

    def do_ioctl(self):
        fd, (name, req) = self.fd(), self.r.choice((("FIONREAD", 0x541B), ("SIOCATMARK", 0x8905), ("OUTQ", 0x5411),
                                                    ("FIONBIO", 0x5421), ("FIOASYNC", 0x5452), ("GPGRP", 0x8904)))
        v = ctypes.c_int(self.r.choice((0, 1)) if name in ("FIONBIO",) else 0)
        ret = call("ioctl", fd, ctypes.c_ulong(req), ctypes.byref(v))
        if name == "OUTQ" and self.tcp_state(fd) not in (1, 8):
            v.value = 0  # numbers of no connection
        return f"ioctl {fd} {name}", ret, v.value

    def do_fcntl(self):
        fd, (cmd, arg) = self.fd(), self.r.choice(((3, 0), (4, 0), (4, 0o4000), (1, 0), (2, 1), (2, 0), (9, 0)))
        return f"fcntl {fd} {cmd} {arg}", call("fcntl", fd, cmd, arg)

    def do_dup(self):
        fd, how = self.fd(), self.r.choice(("dup", "dup2", "dup3", "fcntl"))
        to = self.r.choice((*self.fds[-4:], 50, 51))
        new = call("dup", fd) if how == "dup" else call("fcntl", fd, 0, 40) if how == "fcntl" else \
            call("dup2", fd, to) if how == "dup2" else call("dup3", fd, to, os.O_CLOEXEC)
        if isinstance(new, int) and new != fd and fd != self.ep:
            self.fds.append(new)
        return f"{how} {fd} {to}", new

    def do_shutdown(self):
        fd, how = self.fd(), self.r.choice((0, 1, 2))
        return f"shutdown {fd} {how}", call("shutdown", fd, how)

    def do_close(self):
        fd = self.fd()
        if fd == self.ep:
            return "close none", ""
        return f"close {fd}", call("close", fd)

    def do_poll(self):
        some = self.fds[-8:]
        arr = ctypes.create_string_buffer(b"".join(struct.pack("=ihh", fd, 0x3fff, 0) for fd in some))
        ret = call("poll", arr, len(some), 0)
        return "poll", ret, [f"{fd}:{struct.unpack_from('=H', arr, i * 8 + 6)[0]:x}" for i, fd in enumerate(some)]

    def do_select(self):
        some = [fd for fd in self.fds[-8:] if fd >= 0]
        try:
            return "select", [sorted(set(x)) for x in select.select(some, some, some, 0)]
        except OSError as e:
            return "select", errno.errorcode[e.errno]

    def do_epoll_ctl(self):
        fd, op = self.fd(), self.r.choice((1, 1, 1, 2, 3))
        ev = self.r.choice((1, 4, 5, 0x2001, 7, 0x2007, 0x40000001, 0x40000005, 0, 0x10000001))
        return f"epoll_ctl {op} {fd} {ev:x}", call("epoll_ctl", self.ep, op, fd, struct.pack("=Iq", ev, fd))

    def do_epoll_wait(self):
        raw = ctypes.create_string_buffer(12 * 16)
        ret = call("epoll_wait", self.ep, raw, 16, 0)
        n = ret if isinstance(ret, int) else 0
        return "epoll_wait", ret, sorted(f"{fd}:{ev:x}" for ev, fd in (struct.unpack_from("=Iq", raw, 12 * i) for i in range(n)))

    def tcp_state(self, fd):
        raw, n = ctypes.create_string_buffer(256), ctypes.c_int(256)
        ret = call("getsockopt", fd, A.IPPROTO_TCP, 11, raw, ctypes.byref(n))
        return raw.raw[0] if ret == 0 else ret

    def do_state(self):
        fd = self.fd()
        return f"state {fd}", self.tcp_state(fd)

    # Steps of the peer
    def do_peer(self):
        r, host = self.r, own4 if self.fam == A.AF_INET else own6
        to = (host, self.base + r.choice((3, 4, 5)))
        cmd = r.choice((("accept", self.fam), ("accept", self.fam), ("connect", self.fam, to), ("sendto", self.fam, to, r.choice((0, 1, 100, 1472, 2000))),
                        ("sendto", self.fam, to, 50), ("recvfrom", self.fam), ("send", r.randrange(8), r.choice((1, 100, 1000, 3000))),
                        ("send", r.randrange(8), 10), ("urgent", r.randrange(8)), ("recv", r.randrange(8)), ("recv", r.randrange(8)),
                        ("shut", r.randrange(8)), ("close", r.randrange(8)), ("reset", r.randrange(8))))
        return "peer " + " ".join(map(str, cmd)).replace(host, "own").replace(str(to[1]), f"{to[1] - self.base}"), self.peer(*cmd)

    OFTEN = {"socket": 5, "bind": 6, "connect": 7, "listen": 4, "accept": 5, "peer": 22, "send": 5, "sendto": 4, "sendmsg": 4,
             "recv": 6, "recvfrom": 4, "recvmsg": 6, "mmsg": 3, "rw": 5, "wrong": 4, "get": 6, "set": 6, "name": 3, "ioctl": 4,
             "fcntl": 2, "dup": 2, "shutdown": 3, "close": 2, "poll": 5, "select": 1, "epoll_ctl": 5, "epoll_wait": 5, "state": 2}

    def go(self):
        often = dict(self.OFTEN)
        if os.environ.get("BAD_ADDRESSES") == "no":
            often["wrong"] = 0
        names = sorted(often)
        for step in range(1, STEPS + 1):
            op = "socket" if step in (1, 2) else self.r.choices(names, [often[n] for n in names])[0]
            t = time.monotonic()
            what, *result = getattr(self, "do_" + op)()
            took = time.monotonic() - t
            self.say(step, what, *result, "slowly" if took > 0.3 else "")
            time.sleep(settle)
        for fd in sorted(set(self.fds)) + [self.ep]:
            c.close(fd)
        self.peer("begin", self.base)


def subject(run=Run):
    ctl = A.socket(A.AF_UNIX, A.SOCK_SEQPACKET)
    ctl.connect(control)
    # The first sockets wait for the device to be opened.
    for fam, to in ((A.AF_INET, peer4), (A.AF_INET6, peer6)):
        for kind in (A.SOCK_DGRAM, A.SOCK_STREAM):
            with A.socket(fam, kind) as s:
                s.connect_ex((to, base0 + 2))
    time.sleep(200 * settle)
    for seed in range(first, first + seeds):
        run(seed, ctl).go()


if __name__ == "__main__":
    peer() if role == "peer" else subject()
