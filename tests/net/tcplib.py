# SPDX-License-Identifier: BSD-2-Clause
"""What the TCP programs of tests/net share: a far host by remote control, printing, raw calls.

A program is the subject, on host b; tcp_far.py runs on host a and does there what it is told over
a UNIX socket, which neither network nor offload can disturb. So one program drives both ends of a connection, step by
step, and prints facts, one a line, that are the same for each implementation of TCP.

    far.tcp()                a socket on host a; its methods run there: s.connect(..), s.recv(..)
    far.later(s, "accept")   the same without waiting: the result comes by calling what it returns
    far.call("take", s, 10)  a function of this module, there
"""
import array
import ctypes
import errno
import faulthandler
import fcntl
import json
import os
import random
import select
import signal
import socket
import struct
import subprocess
import sys
import termios
import threading
import time

from netlib import is6, name_of, say

faulthandler.dump_traceback_later(int(os.environ.get("TCP_TEST_SECONDS", "25")), exit=True)
libc = ctypes.CDLL(None, use_errno=True)

SIOCOUTQ, SIOCOUTQNSD, SIOCATMARK, FIONREAD = 0x5411, 0x894B, 0x8905, 0x541B
TCP = socket.IPPROTO_TCP
SOL = socket.SOL_SOCKET
WAIT = 10.0


def attempt(call, *args):
    """The result of a call, or the name of its error."""
    try:
        return call(*args)
    except OSError as e:
        return name_of(e.errno)


def loopback(fam):
    return "127.0.0.1" if fam == 4 else "::1"


def tcp(addr=None, port=None, backlog=None, six=False):
    """A TCP socket of the address's family; bound if there is a port, listening if a backlog."""
    six = six or bool(addr and is6(addr))
    s = socket.socket(socket.AF_INET6 if six else socket.AF_INET, socket.SOCK_STREAM)
    s.settimeout(None)
    if port is not None:
        s.setsockopt(SOL, socket.SO_REUSEADDR, 1)
        s.bind((addr, port))
    if backlog is not None:
        s.listen(backlog)
    return s


def raw(name, *args):
    """A call of the C library as it is, without Python's retrying: result or -errno's name."""
    ctypes.set_errno(0)
    ret = getattr(libc, name)(*args)
    return name_of(ctypes.get_errno()) if ret < 0 else ret


def sockaddr(addr, port):
    if is6(addr):
        data = struct.pack("!16sI", socket.inet_pton(socket.AF_INET6, addr), 0)
        return struct.pack("=H", socket.AF_INET6) + struct.pack("!HI", port, 0) + data
    data = struct.pack("!H", port) + socket.inet_aton(addr)
    return struct.pack("=H", socket.AF_INET) + data + bytes(8)


def raw_connect(s, addr, port):
    sa = sockaddr(addr, port)
    return raw("connect", s.fileno(), sa, len(sa))


def disconnect(s):
    return raw("connect", s.fileno(), bytes(16), 16)  # AF_UNSPEC


def ioctl_int(s, what):
    value = array.array("i", [0])
    fcntl.ioctl(s, what, value)
    return value[0]


def so_error(s):
    return name_of(s.getsockopt(SOL, socket.SO_ERROR)) if s else None


POLL_BITS = [(select.POLLIN, "IN"), (select.POLLPRI, "PRI"), (select.POLLOUT, "OUT"),
             (select.POLLERR, "ERR"), (select.POLLHUP, "HUP"), (select.POLLNVAL, "NVAL"),
             (select.POLLRDNORM, "RDNORM"), (select.POLLRDBAND, "RDBAND"),
             (select.POLLWRNORM, "WRNORM"), (select.POLLWRBAND, "WRBAND"),
             (select.POLLRDHUP, "RDHUP")]
POLL_ALL = sum(bit for bit, _ in POLL_BITS) & ~select.POLLNVAL


def bits(mask):
    return "|".join(name for bit, name in POLL_BITS if mask & bit) or "0"


def polled(s, want=POLL_ALL, seconds=0.0):
    """All events that poll() reports for a socket."""
    p = select.poll()
    p.register(s, want)
    got = p.poll(seconds * 1000)
    return bits(got[0][1]) if got else "0"


SLEEPERS = ("poll", "epoll", "select")


def asleep(call, s, want):
    """The result of a call that sleeps until a socket has `want` (POLLIN or POLLPRI)."""
    if call == "poll":
        p = select.poll()
        p.register(s, want)
        return bits(p.poll(10000)[0][1])
    if call == "epoll":
        with select.epoll() as ep:
            ep.register(s, want)  # the bits have the same values
            return bits(ep.poll(10)[0][1])
    sets = [s] if want == select.POLLIN else [], [], [s] if want == select.POLLPRI else []
    return [len(x) for x in select.select(*sets, 10)]


def wait_for(condition, seconds=WAIT):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.002)
    return True


def settles(s, want, seconds=WAIT):
    """All events that poll() reports once those of want have come (or the time is over)."""
    want = set(want.split("|"))
    wait_for(lambda: want <= set(polled(s).split("|")), seconds)
    time.sleep(0.01)
    return polled(s)


def state(s):
    """The connection's state by TCP_INFO."""
    names = ["?", "ESTABLISHED", "SYN_SENT", "SYN_RECV", "FIN_WAIT1", "FIN_WAIT2", "TIME_WAIT",
             "CLOSE", "CLOSE_WAIT", "LAST_ACK", "LISTEN", "CLOSING"]
    return names[s.getsockopt(TCP, socket.TCP_INFO, 1)[0]]


def becomes(s, want, seconds=WAIT):
    """The connection's state, once it is the wanted one or the time is over."""
    wait_for(lambda: state(s) == want, seconds)
    return state(s)


def seen(s):
    """What a program sees of a connection without waiting."""
    return [state(s), so_error(s), polled(s)]


def arrived(s, n, seconds=WAIT):
    """The number of bytes that can be read, once there are n."""
    wait_for(lambda: ioctl_int(s, FIONREAD) >= n, seconds)
    return ioctl_int(s, FIONREAD)


def acked(s, seconds=WAIT):
    return wait_for(lambda: ioctl_int(s, SIOCOUTQ) == 0, seconds)


# More calls that a far socket can execute ---------------------------------------------------------
def deaf(s, on):
    """Sets a filter that drops every packet for the socket, as a lossy wire would."""
    code = ctypes.create_string_buffer(struct.pack("HBBI", 6, 0, 0, 0))  # return 0
    prog = struct.pack("HxxxxxxQ", 1, ctypes.addressof(code))
    s.setsockopt(SOL, 26 if on else 27, prog)  # SO_ATTACH_FILTER, SO_DETACH_FILTER


def take(s, n):
    """Reads n bytes, or those that come before the end."""
    out = b""
    while len(out) < n:
        got = s.recv(min(n - len(out), 1 << 16))
        if not got:
            break
        out += got
    return out


def skip(s, n):
    """Reads n bytes, or those before the end, and returns how many."""
    left = n
    while left:
        got = s.recv(min(left, 1 << 16))
        if not got:
            break
        left -= len(got)
    return n - left


def to_end(s):
    """Reads up to the end; returns the number of bytes and how the stream ended."""
    n = 0
    try:
        while True:
            got = s.recv(1 << 16)
            if not got:
                return [n, "end"]
            n += len(got)
    except OSError as e:
        return [n, name_of(e.errno)]


def pattern(seed, at, n):
    """Bytes of an endless stream, a function of seed and position."""
    unit = stream_unit(seed)
    at %= len(unit)
    out = unit[at:at + n]
    while len(out) < n:
        out += unit[:n - len(out)]
    return out


UNITS = {}


def stream_unit(seed):
    if seed not in UNITS:
        UNITS[seed] = random.Random(seed).randbytes(65521)
    return UNITS[seed]


def swap(s, seed_out, seed_in, total, most=20000):
    """Sends total bytes and receives as many, at once, in pieces of random size, and checks every byte. Returns True,
    or what was wrong."""
    rng = random.Random(seed_out * 31 + seed_in)
    s.setblocking(False)
    sent = got = 0
    p = select.poll()
    end = time.monotonic() + 40
    while sent < total or got < total:
        p.register(s, (select.POLLIN if got < total else 0) | (select.POLLOUT if sent < total else 0))
        if not p.poll(1000):
            if time.monotonic() > end:
                return f"stands still at {sent} sent, {got} received"
            continue
        try:
            if sent < total:
                n = min(rng.randint(1, most) if rng.random() < 0.7 else rng.randint(1, 60), total - sent)
                sent += s.send(pattern(seed_out, sent, n))
        except BlockingIOError:
            pass
        try:
            if got < total:
                data = s.recv(min(rng.randint(1, most), total - got))
                if not data:
                    return f"ended at {got}"
                if data != pattern(seed_in, got, len(data)):
                    return f"wrong bytes from {got}"
                got += len(data)
        except BlockingIOError:
            pass
    s.setblocking(True)
    return True


def pour(s, seed, total, most=65536):
    """Sends total bytes of a stream, blocking."""
    rng = random.Random(seed)
    sent = 0
    while sent < total:
        n = min(rng.randint(1, most), total - sent)
        s.sendall(pattern(seed, sent, n))
        sent += n
    return sent


def drain(s, seed, total, pause=0.0):
    """Receives total bytes of a stream (slowly, if pause is given). Returns True, or what was wrong."""
    got = 0
    while got < total:
        data = s.recv(min(50000, total - got))
        if not data:
            return f"ended at {got}"
        if data != pattern(seed, got, len(data)):
            return f"wrong bytes from {got}"
        got += len(data)
        if pause:
            time.sleep(pause)
    return True


def other_end(s, unseen, total):
    """The work of tcp_moments.py's far end while the connection moves, and afterwards."""
    out = [drain(s, 4, unseen), swap(s, 6, 5, total), to_end(s)]
    s.close()
    return out


def ktls(s, key_out, key_in):
    """Hands the connection's records to the kernel: TLS 1.2, AES-GCM-128 (linux/tls.h)."""
    TCP_ULP, SOL_TLS, TLS_TX, TLS_RX = 31, 282, 1, 2
    s.setsockopt(TCP, TCP_ULP, b"tls")
    for what, key in ((TLS_TX, key_out), (TLS_RX, key_in)):
        secret = random.Random(key).randbytes(8 + 16 + 4)
        s.setsockopt(SOL_TLS, what, struct.pack("=HH", 0x0303, 51) + secret + bytes(8))


def linger(s, on, seconds):
    s.setsockopt(SOL, socket.SO_LINGER, struct.pack("ii", on, seconds))


def close_reset(s):
    linger(s, 1, 0)
    s.close()


def run(command):
    """A program on the far host, which is never preloaded; its status."""
    env = {k: v for k, v in os.environ.items() if k != "LD_PRELOAD"}
    return subprocess.run(command, env=env, check=False).returncode


def socket_udp(six):
    return socket.socket(socket.AF_INET6 if six else socket.AF_INET, socket.SOCK_DGRAM)


def sniff():
    """A socket that gets every packet."""
    return socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(3))


def has_df(sniffer, port):
    """True: routers may not fragment the first TCP packet from that port. None: it is of IPv6."""
    while True:
        p, where = sniffer.recvfrom(65536)
        v6 = p[0] >> 4 == 6
        proto, l4 = (p[6], 40) if v6 else (p[9], (p[0] & 15) * 4)
        if where[2] == socket.PACKET_HOST and proto == TCP and struct.unpack_from("!H", p, l4)[0] == port:
            return None if v6 else bool(p[6] & 0x40)


def fill(s):
    """Sends without waiting until there has been no room for a while; returns the number of bytes. The while is
    longer than the persist timer (200 ms and more), which sends some more bytes into a window that is open by a
    little."""
    s.setblocking(False)
    n, quiet = 0, 0
    while quiet < 20:
        try:
            n += s.send(bytes(65536))
            quiet = 0
        except BlockingIOError:
            quiet += 1
            time.sleep(0.02)
    return n


# Remote control ---------------------------------------------------------------------------------
class Far:
    """The far host."""

    def __init__(self, path):
        self.ctl = socket.socket(socket.AF_UNIX)
        self.ctl.connect(path)
        self.lines = self.ctl.makefile("rwb")
        self.lock = threading.Lock()

    def ask(self, what, *args, later=False):
        with self.lock:
            self.lines.write(json.dumps([what, [pack(a) for a in args], later]).encode() + b"\n")
            self.lines.flush()
            kind, value = json.loads(self.lines.readline())
        if kind == "errno":
            raise OSError(value, os.strerror(value))
        if kind != "ok":
            raise RuntimeError("far: " + value)
        return unpack(value, self)

    def call(self, name, *args):
        return self.ask("call", name, *args)

    def forget(self):
        """Closes all sockets of the session, so that none is left to the kernel when this program ends."""
        self.ctl.shutdown(socket.SHUT_WR)
        self.lines.readline()

    def tcp(self, *args, **kwargs):
        return self.call("tcp", *args, *([None] * (3 - len(args))), kwargs.get("six", False))

    def later(self, s, name, *args):
        """Begins a method of a socket, or a function called with the socket, in a thread of the far host."""
        number = self.ask("method" if hasattr(socket.socket, name) else "call",
                          *((s, name) if hasattr(socket.socket, name) else (name, s)), *args,
                          later=True)
        return lambda: self.ask("wait", number)

    def begin_connect(self, address, port):
        """A connection that the far host begins, without waiting for it."""
        f = self.tcp(six=is6(address))
        f.setblocking(False)
        try:
            f.connect((address, port))
        except BlockingIOError:
            pass
        return f


class FarSocket:
    def __init__(self, far, number):
        self.far, self.number = far, number

    def __getattr__(self, name):
        if hasattr(socket.socket, name):
            return lambda *args: self.far.ask("method", self, name, *args)
        return lambda *args: self.far.ask("call", name, self, *args)


def pack(v):
    if isinstance(v, (bytes, bytearray)):
        return {"bytes": bytes(v).decode("latin1")}
    if isinstance(v, FarSocket):
        return {"socket": v.number}
    if isinstance(v, (list, tuple)):
        return [pack(x) for x in v]
    return v


def unpack(v, far):
    if isinstance(v, dict) and "bytes" in v:
        return v["bytes"].encode("latin1")
    if isinstance(v, dict) and "socket" in v:
        return FarSocket(far, v["socket"])
    if isinstance(v, list):
        return tuple(unpack(x, far) for x in v)
    return v


def switches():
    """How often threads of this process have gone to sleep."""
    n = 0
    for task in os.listdir("/proc/self/task"):
        with open(f"/proc/self/task/{task}/status") as f:
            n += sum(int(line.split()[1]) for line in f if line.startswith("voluntary_ctxt"))
    return n


class Session:
    """The far end of the control: executes the calls of one program, then closes all that it made."""

    def __init__(self, conn):
        self.lines = conn.makefile("rwb")
        self.sockets, self.running, self.next = {}, {}, 0

    def inward(self, v):
        if isinstance(v, dict) and "socket" in v:
            return self.sockets[v["socket"]]
        if isinstance(v, dict) and "bytes" in v:
            return v["bytes"].encode("latin1")
        if isinstance(v, list):
            return tuple(self.inward(x) for x in v)
        return v

    def outward(self, v):
        if isinstance(v, socket.socket):
            self.next += 1
            self.sockets[self.next] = v
            return {"socket": self.next}
        if isinstance(v, (list, tuple)):
            return [self.outward(x) for x in v]
        return pack(v)

    def perform(self, what, args):
        try:
            if what == "method":
                value = getattr(args[0], args[1])(*args[2:])
            else:
                value = globals()[args[0]](*args[1:])
            return ["ok", self.outward(value)]
        except socket.timeout:
            return ["errno", errno.EAGAIN]
        except OSError as e:
            return ["errno", e.errno]
        except Exception as e:
            return ["wrong", f"{what} {args}: {e!r}"]

    def begin(self, what, args):
        self.next += 1
        result = []
        thread = threading.Thread(target=lambda: result.append(self.perform(what, args)), daemon=True)
        self.running[self.next] = (thread, result)
        thread.start()
        return ["ok", self.next]

    def serve(self):
        for line in self.lines:
            what, args, later = json.loads(line)
            args = [self.inward(a) for a in args]
            if what == "wait":
                thread, result = self.running.pop(args[0])
                thread.join()
                answer = result[0]
            else:
                answer = self.begin(what, args) if later else self.perform(what, args)
            self.lines.write(json.dumps(answer).encode() + b"\n")
            self.lines.flush()
        for s in self.sockets.values():
            s.close()


def start():
    """The usual arguments: own address, peer's address, the far host."""
    return sys.argv[1], sys.argv[2], Far(sys.argv[3])


def pair(own, peer, far, port, before=None):
    """Connects to the far host; returns the socket here and the one there. before(s) is called first."""
    fl = far.tcp(peer, port, 5)
    s = tcp(six=is6(peer))
    if before:
        before(s)
    s.connect((peer, port))
    f, _ = fl.accept()
    fl.close()
    return s, f


def accepted(own, peer, far, port, before=None):
    """Has the far host connect to this one; returns the socket here and the one there. before(listener) is called
    first."""
    ls = tcp(own, port, 5)
    if before:
        before(ls)
    f = far.tcp(six=is6(own))
    f.connect((own, port))
    s, _ = ls.accept()
    ls.close()
    return s, f


def both_ways(own, peer, far, port):
    """A connection of each direction in turn: its name, the socket here, the one there."""
    for name, make in (("active", pair), ("passive", accepted)):
        s, f = make(own, peer, far, port)
        yield name, s, f
