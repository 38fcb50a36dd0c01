#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""any_polls.py subject CONTROL OWN4 OWN6 PEER4 PEER6 BASE FIRST SEEDS [SETTLE_MS]

Programs drawn by a seed that wait for sockets in every way: several epoll sets, sets within sets, members of every
kind (sockets, pipes, event counters, sets), edge-triggered, one-shot and exclusive ones, poll and select with numbers
that are negative, closed or there twice, and a thread that waits while another one changes what is waited for.
any_calls.py has the peer and the calls that make something ready."""
import ctypes
import os
import random
import struct
import threading

import any_calls
from any_calls import A, BAD, Run, c, call

IN, PRI, OUT, RDHUP, EXCLUSIVE, WAKEUP, ONESHOT, EDGE = 1, 2, 4, 0x2000, 1 << 28, 1 << 29, 1 << 30, 1 << 31
EVENTS = (IN, IN, OUT, IN | OUT, IN | RDHUP, IN | PRI, IN | OUT | PRI | RDHUP, 0, RDHUP, 0x10, 0x40 | IN, 0x104)
HOW = (0, 0, EDGE, EDGE, ONESHOT, ONESHOT, EDGE | ONESHOT, EXCLUSIVE, EXCLUSIVE | EDGE, EXCLUSIVE | ONESHOT, WAKEUP)


class Polls(Run):
    OFTEN = {"socket": 4, "bind": 4, "connect": 6, "listen": 3, "accept": 4, "peer": 18, "send": 3, "recv": 6, "recvfrom": 2, "accepted": 3,
             "shutdown": 3, "close": 2, "dup": 2, "set_add": 14, "set_mod": 12, "set_del": 3, "wait": 22, "while": 8, "polls": 8, "selects": 4,
             "other": 4, "wrongly": 1, "new_set": 1, "raw": 3}

    def __init__(self, seed, ctl):
        super().__init__(seed, ctl)
        self.sets = [self.ep] + [call("epoll_create1", 0) for _ in range(2)]
        self.pipe, self.counter = os.pipe2(os.O_NONBLOCK), os.eventfd(0, os.EFD_NONBLOCK)
        self.pair = [s.detach() for s in A.socketpair(A.AF_UNIX, A.SOCK_STREAM | A.SOCK_NONBLOCK)]
        self.members = []  # (set, number); some may have gone
        self.say(0, "sets", self.sets, self.pipe, self.counter, self.pair)
        # The program begins with one of each kind, so that there is something to wait for.
        for what, result in ((self.do_socket()), (self.listener()), (self.dgram())):
            self.say(0, what, result)
        if os.environ.get("BAD_ADDRESSES") != "no":
            self.nowhere()

    def nowhere(self):
        """Calls without memory, and times that are none, take no event away."""
        ep, fd = self.sets[2], self.fds[-1]
        ev = struct.pack("=Iq", OUT | ONESHOT, 7)
        for name, *args in (("epoll_ctl", 7, fd, ctypes.c_void_p(BAD)), ("epoll_ctl", 1, fd, ev), ("epoll_ctl", 1, self.counter, ev),
                            ("epoll_wait", ctypes.c_void_p(BAD), 5, 0),
                            ("epoll_pwait2", self.buf, 3, struct.pack("=qq", 0, 1000000000), None, 8)):
            self.say(0, name, call(name, ep, *args))
        self.say(0, "left", *self.wait(ep, 20, 0, "wait"))
        self.say(0, "gone", call("epoll_ctl", ep, 2, fd, None), call("epoll_ctl", ep, 2, self.counter, None))
        self.say(0, "no set's time", call("epoll_pwait2", ep, self.buf, 3, struct.pack("=qq", 0, 1000000000), None, 8))

    def listener(self):
        fd = call("socket", self.fam, A.SOCK_STREAM | A.SOCK_NONBLOCK, 0)
        self.fds.append(fd)
        self.serve(fd, 3)
        return f"listener {fd}", call("listen", fd, 5)

    def dgram(self):
        fd = call("socket", self.fam, A.SOCK_DGRAM | A.SOCK_NONBLOCK, 0)
        self.fds.append(fd)
        return f"datagrams {fd}", self.serve(fd, 3)

    def serve(self, fd, at):
        host, port = any_calls.own4 if self.fam == A.AF_INET else any_calls.own6, self.base + at
        raw = struct.pack("=H", self.fam) + struct.pack("!H", port)
        raw += A.inet_pton(self.fam, host) + bytes(8) if self.fam == A.AF_INET else bytes(4) + A.inet_pton(self.fam, host) + bytes(4)
        return call("bind", fd, raw, len(raw))

    def any_fd(self):
        x = self.r.random()
        if x < 0.72 and self.fds:
            return self.r.choice(self.fds[-7:])
        if x < 0.82:
            return self.r.choice(self.sets)
        return self.r.choice((self.pipe[0], self.pipe[1], self.counter, self.pair[0], self.pair[1], -1, 222, 0 if x < 0.83 else self.counter))

    def ctl_set(self, op, ep, fd):
        ev, data = self.r.choice(EVENTS) | self.r.choice(HOW), self.r.randrange(1 << 40)
        ret = call("epoll_ctl", ep, op, fd, struct.pack("=Iq", ev & 0xffffffff, data))
        return f"epoll_ctl {op} set {ep} fd {fd} {ev:x} {data:x}", ret

    def do_set_add(self):
        ep, fd = self.r.choice(self.sets), self.any_fd()
        what, ret = self.ctl_set(1, ep, fd)
        if ret == 0:
            self.members.append((ep, fd))
        return what, ret

    def do_set_mod(self):
        if self.members and self.r.random() < 0.9:
            return self.ctl_set(3, *self.r.choice(self.members[-12:]))
        return self.ctl_set(3, self.r.choice(self.sets), self.any_fd())

    def do_set_del(self):
        if self.members and self.r.random() < 0.8:
            return self.ctl_set(2, *self.r.choice(self.members[-12:]))
        return self.ctl_set(2, self.r.choice(self.sets), self.any_fd())

    def do_new_set(self):
        old = self.r.choice(self.sets)
        ret = call("close", old) if self.r.random() < 0.7 else 0
        self.sets[self.sets.index(old)] = new = call("epoll_create1", 0)
        return f"new set for {old}", ret, new

    def wait_once(self, ep, most, ms, how):
        raw = ctypes.create_string_buffer(12 * 20)
        if how == "pwait2":
            ret = call("epoll_pwait2", ep, raw, most, struct.pack("=qq", 0, ms * 1000000), None, 8)
        elif how == "pwait":
            ret = call("epoll_pwait", ep, raw, most, ms, None)
        elif how == "syscall":
            ret = call("syscall", ctypes.c_long(281), ctypes.c_long(ep), raw, ctypes.c_long(most), ctypes.c_long(ms), None, ctypes.c_long(8))
        else:
            ret = call("epoll_wait", ep, raw, most, ms)
        n = ret if isinstance(ret, int) else 0
        return ret, [f"{d:x}:{ev:x}" for ev, d in (struct.unpack_from("=Iq", raw, 12 * i) for i in range(n))]

    def wait(self, ep, most, ms, how):
        """The events of the call and of those after it: not each call looks at the kernel's members, too."""
        ret, got = self.wait_once(ep, most, ms, how)
        if not got:
            return ret, []
        for _ in range(20 if most < 3 else 3):
            any_calls.time.sleep(0.0003)
            got += self.wait_once(ep, most, 0, how)[1]
        return "some", sorted(set(got))

    def do_wait(self):
        ep, most = self.r.choice(self.sets), self.r.choice((20, 20, 20, 20, 20, 1, 2))
        how, ms = self.r.choice(("wait", "wait", "pwait", "pwait2", "syscall")), self.r.choice((0, 0, 1, 5))
        return f"{how} {ep} {most} {ms}", *self.wait(ep, most, ms, how)

    def do_while(self):
        """A thread waits, and meanwhile something happens."""
        ep, how = self.r.choice(self.sets), self.r.choice(("wait", "pwait2", "syscall", "poll"))
        got = []

        def waits():
            if how != "poll":
                return got.append(self.wait(ep, 20, 60, how))
            arr = ctypes.create_string_buffer(struct.pack("=ihh", ep, 5, 0))
            got.append((call("poll", arr, 1, 60), arr.raw[6:8].hex()))

        t = threading.Thread(target=waits)
        t.start()
        any_calls.time.sleep(0.008)
        what, *result = getattr(self, "do_" + self.r.choice(("peer", "peer", "peer", "set_add", "set_mod", "other", "shutdown", "set_del")))()
        t.join()
        return f"{how} {ep} while {what}", *result, "waited", *got[0]

    def do_polls(self):
        fds = [self.any_fd() for _ in range(self.r.choice((0, 1, 3, 5, 8)))]
        fds += [self.r.choice((~fds[0], fds[0], -1))] if fds else []
        evs = [self.r.choice((1, 4, 5, 0x2001, 0x3fff, 0, 2, 0x41, 0x104, 0x2000)) for _ in fds]
        arr = ctypes.create_string_buffer(b"".join(struct.pack("=ihH", fd, ev, 0xaaaa) for fd, ev in zip(fds, evs)))
        ms, how = self.r.choice((0, 0, 0, 3)), self.r.choice(("poll", "ppoll", "syscall"))
        if how == "ppoll":
            ret = call("ppoll", arr, len(fds), struct.pack("=qq", 0, ms * 1000000), None)
        elif how == "syscall":
            ret = call("syscall", ctypes.c_long(7), arr, ctypes.c_long(len(fds)), ctypes.c_long(ms))
        else:
            ret = call("poll", arr, len(fds), ms)
        return f"{how} {ms}", ret, [f"{fd}/{ev:x}:{struct.unpack_from('=H', arr, i * 8 + 6)[0]:x}" for i, (fd, ev) in enumerate(zip(fds, evs))]

    def do_selects(self):
        sets, nfds = [], self.r.choice((64, 64, 256, 1024, 10, 0, -1))
        for _ in range(3):
            bits = bytearray(128)
            for fd in {self.any_fd() for _ in range(self.r.choice((0, 2, 4)))} - {-1, 222 if self.r.random() < 0.9 else -1}:
                bits[fd >> 3] |= 1 << (fd & 7)
            sets.append(ctypes.create_string_buffer(bytes(bits), 128) if self.r.random() < 0.9 else None)
        us = self.r.choice((0, 0, 2000))
        if self.r.random() < 0.5:
            ret = call("select", nfds, *sets, ctypes.create_string_buffer(struct.pack("=qq", 0, us), 16))
        else:
            ret = call("pselect", nfds, *sets, struct.pack("=qq", 0, us * 1000), None)
        return f"select {nfds}", ret, [s and [i for i in range(256) if s.raw[i >> 3] >> (i & 7) & 1] for s in sets]

    def do_other(self):
        what = self.r.choice(("pipe", "drain", "count", "uncount", "pair", "unpair"))
        buf = ctypes.create_string_buffer(struct.pack("=Q", 1), 8)
        fd = {"pipe": self.pipe[1], "drain": self.pipe[0], "count": self.counter, "uncount": self.counter, "pair": self.pair[1],
              "unpair": self.pair[0]}[what]
        return what, call("write" if what in ("pipe", "count", "pair") else "read", fd, buf, 8)

    def do_accepted(self):
        """Has what the peer connected to be accepted, and connects the peer to it first."""
        host = any_calls.own4 if self.fam == A.AF_INET else any_calls.own6
        return "peer connects", self.peer("connect", self.fam, (host, self.base + 3))

    def do_raw(self):
        """The same by syscall(2), which the C library's wrappers do not see."""
        ep, fd = self.r.choice(self.sets), self.any_fd()
        op, ev, data = self.r.choice((1, 1, 3, 2)), self.r.choice(EVENTS) | self.r.choice(HOW), self.r.randrange(1 << 40)
        arg = struct.pack("=Iq", ev & 0xffffffff, data)
        ret = call("syscall", ctypes.c_long(233), ctypes.c_long(ep), ctypes.c_long(op), ctypes.c_long(fd), arg)
        if ret == 0 and op == 1:
            self.members.append((ep, fd))
        return f"syscall epoll_ctl {op} set {ep} fd {fd} {ev:x} {data:x}", ret

    def do_wrongly(self):
        ep, fd = self.r.choice(self.sets), self.any_fd()
        name, args = self.r.choice((
            ("epoll_ctl", (ep, 1, fd, BAD)), ("epoll_ctl", (ep, 7, fd, BAD)), ("epoll_wait", (ep, BAD, 5, 0)), ("epoll_wait", (ep, self.buf, 0, 0)),
            ("epoll_wait", (ep, self.buf, -1, 0)), ("epoll_wait", (fd, self.buf, 3, 0)), ("epoll_wait", (ep, self.buf, 0x7fffffff, 0)),
            ("epoll_pwait2", (ep, self.buf, 3, struct.pack("=qq", 0, -1), None, 8)), ("poll", (BAD, 2, 0)), ("poll", (self.buf, 1 << 30, 0)),
            ("epoll_pwait2", (ep, self.buf, 3, struct.pack("=qq", 0, 1000000000), None, 8)), ("ppoll", (self.buf, 0, struct.pack("=qq", -1, 0), None)),
        ))
        args = [ctypes.c_void_p(a) if a == BAD and a is not True else a for a in args]
        return f"wrong {name} {[a if isinstance(a, int) else '*' for a in args]}", call(name, *args)

    def go(self):
        super().go()
        for fd in (*self.sets, *self.pipe, self.counter, *self.pair):
            c.close(fd)


any_calls.subject(Polls)
