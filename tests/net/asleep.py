# SPDX-License-Identifier: BSD-2-Clause
"""asleep.py peer CONTROL ADDRESS
asleep.py subject CONTROL ADDRESS OWN [SHORT|PAIR...]

A thread sleeps in each call that can sleep, and each thing happens to its socket that can happen: another thread closes
it, shuts it down, puts another file in its place, makes it non-blocking or disconnects it; the peer sends, takes what
was sent, ends, resets; a signal comes. Prints for each pair what the call returned, or that it goes on, and how it ends
then; what the socket gives afterwards; and what the peer sees. Pairs run side by side: each waits for most of a second.
SHORT: some of the calls; PAIR: that one alone, as the output names it.
The peer, by the kernel, does what the subject says over CONTROL, a Unix socket; each pair has a connection of its own."""
import ctypes
import errno
import fcntl
import os
import select
import signal
import socket as A
import struct
import sys
import threading
import time

role, control, address = sys.argv[1:4]
FAMILY = A.AF_INET6 if ":" in address else A.AF_INET
SETTLE = float(os.environ.get("SETTLE", "0.4"))
ABREAST = 36
c = ctypes.CDLL(None, use_errno=True)
BIG = 1 << 16


def name(e):
    return errno.errorcode.get(e, str(e))


# The peer -------------------------------------------------------------------------------------------
def serve(ask):
    """One pair's: a socket of the kind that it wants, and then the connection."""
    kind = A.SOCK_STREAM if ask.recv(100) == b"stream" else A.SOCK_DGRAM
    s = A.socket(FAMILY, kind)
    s.bind((address, 0))
    if kind == A.SOCK_STREAM:
        s.listen(0)
    more = []
    ask.send(b"%d" % s.getsockname()[1])
    while msg := ask.recv(1000):
        op, *a = eval(msg)
        try:
            answer = ""
            if op == "accept":
                s, l = s.accept()[0], s
                l.close()
            elif op == "connect":  # to the subject's socket
                if kind == A.SOCK_STREAM:
                    more.append(s)
                    s = A.socket(FAMILY, kind)
                s.connect(tuple(a[0]))
            elif op == "send":
                answer = s.send(b"d" * a[0])
            elif op == "end":
                s.shutdown(A.SHUT_WR) if kind == A.SOCK_STREAM else s.close()
            elif op == "reset":
                s.setsockopt(A.SOL_SOCKET, A.SO_LINGER, struct.pack("ii", 1, 0))
                s.close()
            elif op == "drain":
                s.settimeout(SETTLE)
                while s.recv(1 << 20):
                    pass
            elif op == "sees":
                s.settimeout(0.2)
                answer = "data" if s.recv(1 << 20) else "the end"
        except OSError as e:
            answer = "nothing" if isinstance(e, TimeoutError) else "closed" if e.errno == errno.EBADF else name(e.errno)
        ask.send(repr(answer).encode())
    s.close()


def peer():
    srv = A.socket(A.AF_UNIX, A.SOCK_SEQPACKET)
    srv.bind(control)
    srv.listen(64)
    while True:
        threading.Thread(target=serve, args=(srv.accept()[0],), daemon=True).start()


# The subject's calls ----------------------------------------------------------------------------------
def call(fn, *a):
    ctypes.set_errno(0)
    r = fn(*a)
    return r if r >= 0 else name(ctypes.get_errno())


class Iov(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("len", ctypes.c_size_t)]


class Msg(ctypes.Structure):
    _fields_ = [("name", ctypes.c_void_p), ("namelen", ctypes.c_uint), ("iov", ctypes.c_void_p), ("iovlen", ctypes.c_size_t),
                ("control", ctypes.c_void_p), ("controllen", ctypes.c_size_t), ("flags", ctypes.c_int), ("len", ctypes.c_uint)]


def message(n):
    buf = ctypes.create_string_buffer(n)
    iov = Iov(ctypes.addressof(buf), n)
    m = Msg(iov=ctypes.addressof(iov), iovlen=1)
    m.keep = buf, iov
    return m


def by_message(fn, fd, n, *more):
    m = message(n)
    return call(fn, fd, ctypes.byref(m), *more)


def by_iov(fn, fd, n):
    m = message(n)
    return call(fn, fd, ctypes.byref(m.keep[1]), 1)


def epoll(fd, events):
    ep = select.epoll()
    ep.register(fd, events)
    try:
        return ["%#x" % e for _, e in ep.poll(SETTLE * 4)]
    except OSError as e:
        return name(e.errno)


def poll(fd, events):
    p = struct.pack("ihh", fd, events, 0)
    p = ctypes.create_string_buffer(p, 8)
    r = call(c.poll, p, 1, int(SETTLE * 4000))
    return r if isinstance(r, str) else (r, "%#x" % struct.unpack("ihh", p.raw)[2])


def selected(fd, out):
    try:
        r = select.select([] if out else [fd], [fd] if out else [], [], SETTLE * 4)
        return len(r[0]), len(r[1])
    except OSError as e:
        return name(e.errno)


def buffer(n):
    return ctypes.create_string_buffer(n)


RECEIVE = {
    "recv": lambda fd: call(c.recv, fd, buffer(10), 10, 0),
    "peek": lambda fd: call(c.recv, fd, buffer(10), 10, A.MSG_PEEK),
    "waitall": lambda fd: call(c.recv, fd, buffer(100), 100, A.MSG_WAITALL),
    "read": lambda fd: call(c.read, fd, buffer(10), 10),
    "readv": lambda fd: by_iov(c.readv, fd, 10),
    "recvfrom": lambda fd: call(c.recvfrom, fd, buffer(10), 10, 0, buffer(28), ctypes.byref(ctypes.c_uint(28))),
    "recvmsg": lambda fd: by_message(c.recvmsg, fd, 10, 0),
    "recvmmsg": lambda fd: by_message(c.recvmmsg, fd, 10, 1, 0, None),
    "poll": lambda fd: poll(fd, 0x2001),
    "poll for nothing": lambda fd: poll(fd, 0),
    "select": lambda fd: selected(fd, False),
    "epoll": lambda fd: epoll(fd, 0x2001),
    "epoll edge": lambda fd: epoll(fd, 0x2001 | 1 << 31),
}
SEND = {
    "send": lambda fd: call(c.send, fd, buffer(BIG), BIG, A.MSG_NOSIGNAL),
    "write": lambda fd: call(c.write, fd, buffer(BIG), BIG),
    "writev": lambda fd: by_iov(c.writev, fd, BIG),
    "sendmsg": lambda fd: by_message(c.sendmsg, fd, BIG, A.MSG_NOSIGNAL),
    "sendfile": lambda fd: call(c.sendfile, fd, os.open("/proc/self/exe", os.O_RDONLY), None, BIG),
    "poll to send": lambda fd: poll(fd, 4),
    "select to send": lambda fd: selected(fd, True),
}
ACCEPT = {
    "accept": lambda fd: "new" if isinstance(r := call(c.accept, fd, None, None), int) else r,
    "accept4": lambda fd: "new" if isinstance(r := call(c.accept4, fd, None, None, A.SOCK_CLOEXEC), int) else r,
    "poll to accept": lambda fd: poll(fd, 1),
    "epoll to accept": lambda fd: epoll(fd, 1),
}
KINDS = {"receive": RECEIVE, "send": SEND, "accept": ACCEPT, "dgram": RECEIVE, "connect": {"connect": None, "poll to connect": None}}
EVENTS = ("nothing", "close", "close of one of two", "another file", "shut read", "shut write", "shut", "data", "end", "reset",
          "signal", "signal to go on", "disconnect", "non-blocking", "time limit", "close with linger 0", "drained")


SOME = ("recv", "recvmmsg", "poll", "select", "epoll edge", "send", "select to send", "accept", "poll to accept", "connect")
GONE = ("close", "close of one of two", "another file", "close with linger 0")


class Pair:
    def __init__(self, kind, wait, event, place):
        self.kind, self.wait, self.event = kind, wait, event
        self.ctl = A.socket(A.AF_UNIX, A.SOCK_SEQPACKET)
        self.ctl.connect(control)
        self.ctl.send(b"dgram" if kind == "dgram" else b"stream")
        port = int(self.ctl.recv(100))
        s = A.socket(FAMILY, A.SOCK_DGRAM if kind == "dgram" else A.SOCK_STREAM)
        self.to = (address, port)
        if kind == "accept":
            s.bind((own, 0))
            s.listen(4)
        elif kind == "connect":  # its SYN is dropped: the peer's queue is full
            self.fill = [A.socket(FAMILY, A.SOCK_STREAM) for _ in range(2)]
            for f in self.fill:
                f.setblocking(False)
                f.connect_ex(self.to)
                time.sleep(0.02)
        elif kind == "dgram":
            s.bind((own, 0))
            s.connect(self.to)
            self.ask("connect", s.getsockname()[:2])
        else:
            if kind == "send":
                s.setsockopt(A.SOL_SOCKET, A.SO_SNDBUF, 20000)
            s.connect(self.to)
            self.ask("accept")
        if kind == "send":
            s.setblocking(False)
            full = 0
            while full < 4:
                try:
                    s.send(b"x" * BIG)
                    full = 0
                except BlockingIOError:
                    full += 1
                    time.sleep(0.02)
            s.setblocking(True)
        self.own = own, s.getsockname()[1]
        # A number of its own: no other pair's file gets it while a call looks for it that was made before it was closed.
        self.fd = call(c.fcntl, s.fileno(), fcntl.F_DUPFD, 300 + 4 * place)
        s.close()

    def ask(self, *a):
        self.ctl.send(repr(a).encode())
        return eval(self.ctl.recv(1000))

    def sleeps(self):
        try:
            if self.kind == "connect":
                a = struct.pack("=H", FAMILY) + struct.pack("!H", self.to[1])
                a += A.inet_pton(FAMILY, address) if FAMILY == A.AF_INET else bytes(4) + A.inet_pton(FAMILY, address) + bytes(4)
                a = a.ljust(28 if FAMILY == A.AF_INET6 else 16, b"\0")
                os.set_blocking(self.fd, self.wait == "connect")
                self.result = call(c.connect, self.fd, a, len(a))
                if self.wait != "connect":
                    self.result = poll(self.fd, 4)
            else:
                self.result = KINDS[self.kind][self.wait](self.fd)
        except Exception as e:
            self.result = repr(e)

    def happen(self):
        fd, e = self.fd, self.event
        if e == "close":
            return call(c.close, fd)
        if e == "close of one of two":
            self.fd = c.dup(fd)
            return call(c.close, fd)
        if e == "another file":
            other = os.open("/dev/null", os.O_RDWR)
            r = os.dup2(other, fd)
            os.close(other)
            return r == fd
        if e.startswith("shut"):
            return call(c.shutdown, fd, {"shut read": 0, "shut write": 1, "shut": 2}[e])
        if e == "data":
            if self.kind == "accept":
                return self.ask("connect", self.own)
            return self.ask("send", 5)
        if e in ("end", "reset"):
            return self.ask(e)
        if e.startswith("signal"):
            signal.pthread_kill(self.thread.ident, signal.SIGUSR1 if e == "signal" else signal.SIGUSR2)
            return 0
        if e == "disconnect":
            return call(c.connect, fd, bytes(16), 16)
        if e == "non-blocking":
            os.set_blocking(fd, False)
        if e == "time limit":
            t = struct.pack("ll", 0, 50000)
            return call(c.setsockopt, fd, A.SOL_SOCKET, A.SO_RCVTIMEO, t, 16), call(c.setsockopt, fd, A.SOL_SOCKET, A.SO_SNDTIMEO, t, 16)
        if e == "close with linger 0":
            call(c.setsockopt, fd, A.SOL_SOCKET, A.SO_LINGER, struct.pack("ii", 1, 0), 8)
            return call(c.close, fd)
        if e == "drained":
            return self.ask("drain")
        return 0

    def run(self):
        self.result = None
        self.thread = threading.Thread(target=self.sleeps, daemon=True)
        self.thread.start()
        time.sleep(SETTLE)
        early = self.result
        did = self.happen() if early is None else "not asleep"
        self.thread.join(SETTLE)
        said = [f"{self.kind}, {self.wait}, {self.event}: {did}"]
        said.append(early if early is not None else self.result if not self.thread.is_alive() else "goes on")
        gone = self.event in ("close", "close with linger 0")  # (the number may be another pair's by now)
        after = [] if gone else [call(c.recv, self.fd, buffer(100), 100, A.MSG_DONTWAIT)]
        b, n = buffer(4), ctypes.c_uint(4)
        if not gone:
            r = call(c.getsockopt, self.fd, A.SOL_SOCKET, A.SO_ERROR, b, ctypes.byref(n))
            after.append(name(struct.unpack("i", b.raw)[0]) if r == 0 else r)
            after.append(poll(self.fd, 0x2005) if not self.thread.is_alive() else "")
        said.append(after)
        said.append(self.ask("sees") if self.kind not in ("send", "accept", "connect") else "")
        if self.thread.is_alive():
            if self.event in GONE and self.wait.startswith(("poll", "select", "epoll")):
                pass  # (what wakes it, and that it looks at the number then, differs from release to release)
            elif self.kind == "accept":
                said.append(("then", self.ask("connect", self.own)))
            else:
                said.append(("then", self.ask("send", 5), self.wait == "waitall" and self.ask("end")))
            self.thread.join(SETTLE)
            if said[-1][0] == "then":
                said.append(self.result if not self.thread.is_alive() else "goes on")
        self.said = " ".join(map(str, said))
        if not self.thread.is_alive() and not gone:
            c.close(self.fd)
        self.ctl.close()


def one(pair):
    place = places.pop()
    try:
        p = Pair(*pair, place)
        p.run()
        out[pair] = p.said
    except Exception as e:
        out[pair] = f"{pair}: {e!r} {e.__traceback__.tb_lineno}"
    places.append(place)
    room.release()


out = {}
room = threading.Semaphore(ABREAST)
places = list(range(ABREAST))


def subject():
    signal.signal(signal.SIGUSR1, lambda *_: None)
    signal.signal(signal.SIGUSR2, lambda *_: None)
    signal.siginterrupt(signal.SIGUSR2, False)
    wanted = sys.argv[5:]
    pairs = [(k, w, e) for k, waits in KINDS.items() for w in waits for e in EVENTS]
    # tcp_disconnect() beneath a sleeper: EBUSY in Linux 6.4, EPIPE from 6.7 on, the connection's error before.
    pairs = [p for p in pairs if p[2] != "disconnect" or p[0] in ("send", "accept", "dgram")]
    if wanted == ["SHORT"]:
        pairs = [p for p in pairs if p[1] in SOME]
    elif wanted:
        pairs = [p for p in pairs if ", ".join(p) in wanted]
    threads = []
    for p in pairs:
        room.acquire()
        threads.append(threading.Thread(target=one, args=(p,), daemon=True))
        threads[-1].start()
    for t in threads:
        t.join(SETTLE * 20)
    for p in pairs:
        print(out.get(p, f"{p}: never ends"), flush=True)
    os._exit(0)


own = sys.argv[4] if len(sys.argv) > 4 else ""
peer() if role == "peer" else subject()
