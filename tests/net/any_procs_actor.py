#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""any_procs_actor.py CONTROL NAME [SLOTS]

An actor of any_procs.py: a process, or a thread of it, with descriptors in slots. It makes the calls that the conductor
tells it over CONTROL, a Unix socket, and answers what they gave. SLOTS are the descriptors that it has from the program
that started it."""
import ctypes
import errno
import json
import os
import select
import signal
import socket
import struct
import subprocess
import sys
import threading
import zlib

control = sys.argv[1]
A = socket
c = ctypes.CDLL(None, use_errno=True)
HERE = os.path.abspath(sys.argv[0])


def call(name, *args):
    ctypes.set_errno(0)
    r = getattr(c, name)(*args)
    return r if r >= 0 else "-" + errno.errorcode.get(ctypes.get_errno(), "?")


def sockaddr(host, port):
    if ":" in host:
        return struct.pack("=H", A.AF_INET6) + struct.pack("!HI", port, 0) + A.inet_pton(A.AF_INET6, host) + bytes(4)
    return struct.pack("=H", A.AF_INET) + struct.pack("!H", port) + A.inet_pton(A.AF_INET, host) + bytes(8)


class Actor:
    def __init__(self, name, slots):
        self.name, self.slots = name, slots
        self.buf = ctypes.create_string_buffer(1 << 17)
        self.hello()

    def hello(self):
        s = A.socket(A.AF_UNIX, A.SOCK_SEQPACKET)
        s.connect(control)
        n = call("fcntl", s.fileno(), 1030, 900)  # F_DUPFD_CLOEXEC: the small numbers are the program's
        s.close()
        self.ctl = A.socket(A.AF_UNIX, A.SOCK_SEQPACKET, fileno=n)
        self.ctl.send(repr((self.name, os.getpid(), threading.get_native_id())).encode())

    def run(self):
        while True:
            msg, fds, *_ = A.recv_fds(self.ctl, 100000, 1)
            if not msg:
                return
            self.pass_on = []
            op, *args = eval(msg)
            if op == "quit":
                return
            result = getattr(self, "do_" + op)(*args, *fds)
            if self.pass_on:
                A.send_fds(self.ctl, [repr(result).encode()], self.pass_on)
            else:
                self.ctl.send(repr(result).encode())

    def fd(self, s):
        return self.slots.get(s, -1)

    def new(self, s, fd):
        if isinstance(fd, int):
            old = self.slots.pop(s, None)
            if old is not None and old != fd:
                c.close(old)
            self.slots[s] = fd
            return "ok"
        return fd

    # Calls about a socket
    def do_socket(self, s, fam, kind, opts=()):
        fd = call("socket", fam, kind, 0)
        if isinstance(fd, int):
            self.timeo(fd, 30)
            for level, opt in opts:
                c.setsockopt(fd, level, opt, struct.pack("i", 1), 4)
        return self.new(s, fd)

    def timeo(self, fd, ms):
        """What blocks does so for a moment only, unless a step says otherwise."""
        return [call("setsockopt", fd, A.SOL_SOCKET, opt, struct.pack("qq", ms // 1000, ms % 1000 * 1000), 16)
                for opt in (A.SO_RCVTIMEO, A.SO_SNDTIMEO)]

    def do_timeo(self, s, ms):
        return self.timeo(self.fd(s), ms)

    def do_bind(self, s, host, port):
        a = sockaddr(host, port)
        return call("bind", self.fd(s), a, len(a))

    def do_connect(self, s, host, port):
        a = sockaddr(host, port)
        return call("connect", self.fd(s), a, len(a))

    def do_disconnect(self, s):
        return call("connect", self.fd(s), bytes(16), 16)

    def do_listen(self, s):
        return call("listen", self.fd(s), 8)

    def do_accept(self, s, new, fl=0):
        r = self.new(new, call("accept4", self.fd(s), None, None, fl))
        return (r, call("fcntl", self.fd(new), 1) & 1, call("fcntl", self.fd(new), 3) & os.O_NONBLOCK) if fl and r == "ok" else r

    def do_send(self, s, n, fl):
        ctypes.memmove(self.buf, bytes((i * 7 + n) & 255 for i in range(n)), n)
        return call("send", self.fd(s), self.buf, n, fl | A.MSG_NOSIGNAL)

    def do_sendto(self, s, n, host, port):
        a = sockaddr(host, port)
        ctypes.memmove(self.buf, bytes(n), n)
        return call("sendto", self.fd(s), self.buf, n, A.MSG_NOSIGNAL, a, len(a))

    def got(self, ret):
        return ret, f"{zlib.crc32(self.buf.raw[:ret]):08x}" if isinstance(ret, int) and ret else ""

    def do_recv(self, s, n, fl):
        return self.got(call("recv", self.fd(s), self.buf, n, fl))

    def do_recvmsg(self, s, n, fl):
        """recv() of several pieces, and what the message says of itself."""
        half = max(1, n // 2)
        iov = (ctypes.c_uint64 * 4)(ctypes.addressof(self.buf), half, ctypes.addressof(self.buf) + half, n - half)
        name = ctypes.create_string_buffer(128)
        hdr = ctypes.create_string_buffer(struct.pack("=QIIQQQQiI", ctypes.addressof(name), 128, 0, ctypes.addressof(iov), 2, 0, 0, 0, 0))
        ret = call("recvmsg", self.fd(s), hdr, fl)
        return *self.got(min(ret, n) if isinstance(ret, int) else ret), ret, struct.unpack_from("=i", hdr, 48)[0], struct.unpack_from("=I", hdr, 8)[0]

    def do_read(self, s, n):
        return self.got(call("read", self.fd(s), self.buf, n))

    def do_shutdown(self, s, how):
        return call("shutdown", self.fd(s), how)

    def do_close(self, s):
        return call("close", self.slots.pop(s, -1))

    def do_dup(self, s, new, how):
        fd = self.fd(s)
        if how == "dup2" and new in self.slots:
            return call("dup2", fd, self.slots[new]) in (-1, self.slots[new])
        return self.new(new, call("fcntl", fd, 0, 40) if how == "dupfd" else
                        call("dup3", fd, 70 + new % 20, os.O_CLOEXEC) if how == "dup3" else call("dup", fd))

    def do_stdio(self, s, number):
        r = call("dup2", self.fd(s), number)
        self.new(s, r)
        return r

    def do_nonblock(self, s, on):
        return call("fcntl", self.fd(s), 4, os.O_NONBLOCK if on else 0)

    def do_name(self, s, which, base):
        raw, n = ctypes.create_string_buffer(128), ctypes.c_int(128)
        ret = call(which, self.fd(s), raw, ctypes.byref(n))
        if ret != 0:
            return ret
        port = struct.unpack("!H", raw.raw[2:4])[0]
        return raw.raw[4:n.value].hex(), port - base if 0 <= port - base < 8 else bool(port)

    def do_option(self, s, level, opt):
        raw, n = ctypes.create_string_buffer(256), ctypes.c_int(4)
        ret = call("getsockopt", self.fd(s), level, opt, raw, ctypes.byref(n))
        return ret, raw.raw[0] if (level, opt) == (6, 11) else raw.raw[:4].hex()

    def do_set(self, s, level, opt, val):
        return call("setsockopt", self.fd(s), level, opt, struct.pack("i", val), 4)

    def do_inq(self, s):
        v = ctypes.c_int(0)
        return call("ioctl", self.fd(s), ctypes.c_ulong(0x541B), ctypes.byref(v)), v.value

    def do_poll(self, ms=0):
        some = sorted(self.slots)
        arr = ctypes.create_string_buffer(b"".join(struct.pack("=ihh", self.slots[s], 0x3fff, 0) for s in some) or b" ")
        ret = call("poll", arr, len(some), ms)
        return ret, [f"{s}:{struct.unpack_from('=H', arr, i * 8 + 6)[0]:x}" for i, s in enumerate(some)]

    def do_poll_one(self, s, events, ms):
        arr = ctypes.create_string_buffer(struct.pack("=ihh", self.fd(s), events, 0))
        return call("poll", arr, 1, ms), hex(struct.unpack_from("=H", arr, 6)[0])

    def do_select(self, s, ms):
        fd = self.fd(s)
        try:
            return [len(x) for x in select.select([fd], [fd], [fd], ms / 1000)]
        except (OSError, ValueError):
            return "error"

    def do_null(self, s):
        """dup2() of a file that is no socket over the number."""
        null = os.open("/dev/null", os.O_RDWR)
        r = call("dup2", null, self.fd(s)) == self.fd(s)
        os.close(null)
        return r

    def do_epoll(self, s):
        return self.new(s, call("epoll_create1", 0))

    def do_epoll_ctl(self, ep, op, s, ev):
        return call("epoll_ctl", self.fd(ep), op, self.fd(s), struct.pack("=Iq", ev, s))

    def do_epoll_wait(self, ep, ms):
        raw = ctypes.create_string_buffer(12 * 16)
        ret = call("epoll_wait", self.fd(ep), raw, 16, ms)
        n = ret if isinstance(ret, int) else 0
        return ret, sorted(f"{s}:{ev:x}" for ev, s in (struct.unpack_from("=Iq", raw, 12 * i) for i in range(n)))

    # Processes and threads
    def do_fork(self, name):
        if os.fork() == 0:
            self.ctl.close()
            self.name = name
            self.hello()
            try:
                self.run()
            finally:
                os._exit(0)
        return "ok"

    def do_thread(self, name, own_files):
        def go():
            if own_files:
                call("unshare", 0x400)
            Actor(name, dict(self.slots) if own_files else self.slots).run()

        threading.Thread(target=go, daemon=True).start()
        return "ok"

    def argv(self, name, slots):
        return [sys.executable, "-ES", HERE, control, name, json.dumps(slots)]

    def do_exec(self, keep):
        for fd in self.slots.values():
            os.set_inheritable(fd, keep)
        argv = self.argv(self.name, self.slots if keep else {})
        os.execv(argv[0], argv)

    def do_spawn(self, name, how, some, native):
        """Starts another program with some of the sockets, by number."""
        kept = {s: self.slots[s] for s in some if s in self.slots}
        env = {k: v for k, v in os.environ.items() if not native or k != "LD_PRELOAD"}
        if how == "posix":
            actions = [(os.POSIX_SPAWN_DUP2, fd, 100 + s) for s, fd in kept.items()]
            kept = {s: 100 + s for s in kept}
            os.posix_spawn(sys.executable, self.argv(name, kept), env, file_actions=actions)
        elif how == "popen":  # (vfork)
            p = subprocess.Popen(self.argv(name, kept), pass_fds=tuple(kept.values()), env=env)
            p.returncode = 0
        else:
            argv = self.argv(name, kept)
            if os.fork() == 0:
                for fd in kept.values():
                    os.set_inheritable(fd, True)
                os.execve(argv[0], argv, env)
        return "ok"

    def do_give(self, s):
        """Passes it on, by SCM_RIGHTS."""
        if self.fd(s) < 0:
            return "none"
        self.pass_on = [self.fd(s)]
        return "ok"

    def do_steal(self, s, pid, number):
        """A descriptor of another process, by pidfd_getfd(2)."""
        pidfd = c.syscall(434, pid, 0)
        fd = c.syscall(438, pidfd, number, 0) if pidfd >= 0 else -1
        c.close(pidfd)
        return self.new(s, fd) if fd >= 0 else "none"

    def do_number(self, s):
        return self.fd(s)

    def do_take(self, s, fd=None):
        return "none" if fd is None else self.new(s, fd)

    def do_setuid(self):
        return call("setuid", 65534)

    def do_chroot(self):
        return call("chroot", b"/tmp")

    def do_exit(self):
        os._exit(0)

    def do_end(self):
        return [self.do_close(s) for s in sorted(self.slots)]


def set_signals():
    for sig, interrupts in ((signal.SIGUSR1, False), (signal.SIGUSR2, True)):
        signal.signal(sig, lambda *_: None)
        signal.siginterrupt(sig, interrupts)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)


set_signals()
Actor(sys.argv[2], {int(s): fd for s, fd in json.loads(sys.argv[3] if len(sys.argv) > 3 else "{}").items()}).run()
os._exit(0)
