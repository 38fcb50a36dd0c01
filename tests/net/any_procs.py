#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""any_procs.py CONTROL OWN4 OWN6 PEER4 PEER6 BASE SEED...

Programs of several processes and threads, drawn by a seed: sockets are inherited, passed on, duplicated and waited for,
and the processes that have them exit or are killed. This is the conductor. It has two roots (any_procs_actor.py),
"kernel" and "us", which make the kernel's sockets and ours. It tells each process its steps over CONTROL, a Unix
socket, one at a time, and is the peer itself, by the kernel: so each run of a program gives the same, and the peer
sees the same (states, bytes). A program that differs is tried once more with more time after each step, and
what still differs is printed with as few steps as it needs."""
import ctypes
import errno
import os
import random
import select
import signal
import socket
import struct
import sys
import time
import zlib

control = sys.argv[1]
STEPS = int(os.environ.get("STEPS", 45))
PORTS = 8
MORE = 1000
A = socket
c = ctypes.CDLL(None, use_errno=True)


# The programs ---------------------------------------------------------------------------------------
EVENTS = (1, 4, 5, 0x2001, 7, 0x80000001, 0x80000005, 0x80002005, 0x40000001, 0x40000005, 0x10000001)


class Program:
    """Draws steps: (actor, operation, arguments). It only guesses what the steps before have given. Seeds from MORE on
    draw from more kinds of steps."""

    def __init__(self, seed):
        self.r = random.Random(seed)
        self.more = seed >= MORE
        self.fam = self.r.choice((4, 6))
        self.mortal = self.r.random() < 0.2
        self.steps, self.has, self.threads, self.dead = [], {"M": {}}, {}, set()  # dead: in another root
        self.groups = set()  # SO_REUSEPORT: (kind, host, port)
        self.slot = self.names = 0
        for _ in range(self.r.choice((1, 2, 2, 3))):
            self.make("M")
        while len(self.steps) < STEPS and self.has:
            self.step()

    def share_sets(self, actor):
        """Sets that two processes have (E) are not changed: the library gives each a set of its own then."""
        has = self.has[actor]
        has.update((s, "E") for s in has if has[s] == "e")

    def add(self, *step):
        self.steps.append(tuple(int(x) if isinstance(x, int) and not isinstance(x, bool) else x for x in step))

    def new(self, actor, kind):
        self.slot += 1
        self.has[actor][self.slot] = kind
        return self.slot

    def some(self, kinds="", actor=None):
        """An actor and a slot of its; of the later ones rather."""
        at = [(a, s) for a in ([actor] if actor else self.has) for s, k in self.has[a].items() if not kinds or k in kinds]
        return self.r.choice(at[-10:]) if at else (None, None)

    def make(self, actor):
        r, kind = self.r, self.r.choice("cccllludue")
        if kind == "e":
            self.add(actor, "epoll", self.new(actor, "e"))
            return
        opts = [(1, 2)] if r.random() < 0.3 else []
        if self.more and kind in "lu" and r.random() < 0.4:
            opts = [(1, 15)]
        s = self.new(actor, kind)
        self.add(actor, "socket", s, "fam", (A.SOCK_DGRAM if kind in "ud" else A.SOCK_STREAM), opts)
        if kind in "lu" or r.random() < 0.1:
            self.add(actor, "bind", s, r.choice(("own", "own", "any")), r.choice((3, 4, 5)))
            self.last_at = self.steps[-1][4]
            at = (kind, *self.steps[-1][3:])
            if (1, 15) in opts and at in self.groups:  # (of several members the kernel takes one by a secret hash)
                opts = []
                self.steps[-2] = (*self.steps[-2][:5], opts)
            if (1, 15) in opts:
                self.groups.add(at)
        if kind == "l":
            self.add(actor, "listen", s)
            if self.more and (1, 15) in opts and r.random() < 0.6:
                self.twin(actor, s)
            if r.random() < 0.7:
                self.add("peer", "connect", self.last_at)
            if r.random() < 0.6:
                self.add(actor, "accept", s, self.new(actor, "c"))
        elif kind == "c":
            self.add(actor, "connect", s, "peer", 0)
        elif r.random() < 0.4:
            self.add(actor, "connect", s, "peer", 1)
        if r.random() < 0.2:
            self.add(actor, "nonblock", s, 1)

    def twin(self, actor, of):
        """Another member of the listener's SO_REUSEPORT group takes the place of the first, in any process."""
        a = self.r.choice(list(self.has))
        bind = next(s for s in self.steps[::-1] if s[:3] == (actor, "bind", of))
        s = self.new(a, "l")
        self.add(a, "socket", s, "fam", A.SOCK_STREAM, [(1, 15)])
        self.add(a, "bind", s, *bind[3:])
        self.add(a, "listen", s)
        self.add(actor, "close", of)
        self.has[actor].pop(of, None)

    def actor(self):
        return self.r.choice(list(self.has))

    def family(self):
        r, a = self.r, self.actor()
        if self.threads.get(a, a) in self.dead:
            return  # in another root it reaches no conductor
        what = r.choice(("fork",) * 6 + ("thread",) * 4 + ("give",) * 4 + ("spawn",) * 3 +
                        ("exec", "exit", "exit", "kill", "kill", "setuid", "chroot", "native"))
        if what in ("fork", "thread", "spawn", "native") and len(self.has) > 4:
            what = "give"
        if what in ("exec", "exit", "kill", "setuid", "chroot") and (a in self.threads or a == "M" and not (self.mortal and len(self.has) > 1)):
            what = "fork" if len(self.has) < 4 else "give"
        self.names += 1
        name = f"{'T' if what == 'thread' else 'P'}{self.names}"
        if what == "fork":
            self.add(a, "fork", name)
            self.share_sets(a)
            self.has[name] = dict(self.has[a])
        elif what == "thread":
            own = self.mortal and r.random() < 0.3  # (for good: its sockets are the kernel's from then on)
            self.add(a, "thread", name, own)
            self.has[name] = dict(self.has[a]) if own else self.has[a]
            self.threads[name] = self.threads.get(a, a)
        elif what in ("spawn", "native"):
            some = [s for s in self.has[a] if r.random() < 0.7]
            self.share_sets(a)
            self.add(a, "spawn", name, r.choice(("posix", "popen", "fork")), some, what == "native")
            self.has[name] = {s: self.has[a][s] for s in some}
        elif what == "give":
            a, s = self.some()
            to = r.choice([x for x in self.has if x != a] or [a])
            if s:
                self.share_sets(a)
                self.add(a, "give", s, to, self.new(to, self.has[a][s]))
        else:
            self.add(a, what, *([r.random() < 0.8] if what == "exec" else []))
            for t in [t for t, of in self.threads.items() if of == a and t in self.has and what in ("exec", "exit", "kill")]:
                del self.has[t]
            if what in ("exit", "kill"):
                del self.has[a]
            elif what == "chroot":
                self.dead.add(a)

    def step(self):
        r = self.r
        if self.more and r.random() < 0.22:
            return getattr(self, r.choice(("accepts", "threads", "flags", "steal", "again")) + "_step")()
        kind = r.choices(("family", "make", "peer", "data", "block", "ready", "epoll", "end", "misc"), (18, 5, 20, 20, 7, 6, 10, 12, 6))[0]
        getattr(self, kind + "_step" if kind not in ("family", "make") else kind)(*([self.actor()] if kind == "make" else []))

    def peer_step(self):
        r = self.r
        self.add("peer", *r.choice((("connect", r.choice((3, 4, 5))), ("sendto", r.choice((3, 4, 5)), r.choice((0, 1, 100, 1472))),
                                    ("send", r.randrange(6), r.choice((1, 100, 3000))), ("send", r.randrange(6), 10), ("send", r.randrange(6), 10),
                                    ("recv", r.randrange(6)), ("recv", r.randrange(6)), ("shut", r.randrange(6)), ("close", r.randrange(6)),
                                    ("reset", r.randrange(6)))))

    def data_step(self):
        r = self.r
        what = r.choice(("send", "send", "recv", "recv", "recv", "accept", "accept", "sendto"))
        a, s = self.some({"send": "c", "recv": "cud", "accept": "l", "sendto": "ud"}[what])
        if s is None:
            return
        if what == "send":
            self.add(a, "send", s, r.choice((1, 10, 100, 3000)), r.choice((0, 0, A.MSG_DONTWAIT)))
        elif what == "recv":
            self.add(*r.choice(((a, "recv", s, r.choice((1, 50, 65536)), r.choice((0, A.MSG_DONTWAIT, A.MSG_PEEK))), (a, "read", s, 60000))))
        elif what == "sendto":
            self.add(a, "sendto", s, r.choice((1, 100, 1000)), "peer", 1)
        else:
            self.add(a, "accept", s, self.new(a, "c"))

    def block_step(self):
        """A call that waits until something comes, or a signal."""
        r = self.r
        a, s = self.some("cudleE")
        if s is None or a == "M":
            return
        kind, ms = self.has[a][s], r.choice((0, 0, 5000))
        if kind in "eE":
            self.add(a, "epoll_wait", s, 5000)
        elif r.random() < 0.3:
            self.add(a, r.choice(("poll_one",)), s, 1, 5000)
        else:
            self.add(a, "timeo", s, ms)
            self.add(*((a, "accept", s, self.new(a, "c")) if kind == "l" else (a, "recv", s, 1000, 0)))
        for _ in range(r.randint(0, 2)):
            self.step()
        if r.random() < 0.5:
            self.add(a, "signal", r.choice((signal.SIGUSR1, signal.SIGUSR2)))
        if r.random() < 0.3 and kind not in "eE":
            self.add(a, "timeo", s, 30)

    def accepts_step(self):
        """Processes that accept on one listener: more of them than there are connections."""
        r = self.r
        a, s = self.some("l")
        if s is None:
            return
        all_of = [(b, t) for b in self.has for t, k in self.has[b].items() if k == "l"]
        if not r.randint(0, 2):
            self.add("peer", "connect", r.choice((3, 4, 5)))
        for b, t in r.sample(all_of, min(len(all_of), r.randint(1, 3))):
            self.add(b, "accept", t, self.new(b, "c"), r.choice((0, A.SOCK_NONBLOCK, A.SOCK_CLOEXEC, A.SOCK_NONBLOCK | A.SOCK_CLOEXEC)))
        self.add("peer", "connect", r.choice((3, 4, 5)))

    def threads_step(self):
        """A thread sleeps in a call, another one of its process ends the socket or takes its number."""
        r = self.r
        if not self.threads or r.random() < 0.2:
            a = self.actor()
            if len(self.has) > 5 or self.threads.get(a, a) in self.dead:
                return
            self.names += 1
            self.add(a, "thread", f"T{self.names}", False)
            self.has[f"T{self.names}"] = self.has[a]
            self.threads[f"T{self.names}"] = self.threads.get(a, a)
        t = r.choice(list(self.threads))
        if t not in self.has or self.has[t] is not self.has.get(self.threads[t]):
            return
        _, s = self.some("cul", t)
        if s is None:
            return
        kind = self.has[t][s]
        self.add(t, "timeo", s, r.choice((0, 5000)))
        polls = r.random() < 0.3
        if polls:
            self.add(t, "poll_one", s, 1, 5000)
        else:
            self.add(*((t, "accept", s, self.new(t, "c")) if kind == "l" else (t, "recv", s, 1000, r.choice((0, 0, A.MSG_WAITALL, A.MSG_PEEK)))))
        other = self.threads[t]
        how = r.choice(("close", "shutdown", "shutdown", "null", "dup", "data"))
        if how == "close":
            self.add(other, "close", s)
            self.has[t].pop(s, None)
        elif how == "shutdown":
            self.add(other, "shutdown", s, r.choice((0, 1, 2)))
        elif how == "null":
            self.add(other, "null", s)
            self.has[t][s] = "x"
        elif how == "dup":
            _, over = self.some("cudl", other)
            # (select(2) leaves open how a poll ends whose number another file takes.)
            if over and over != s and not polls:
                self.add(other, "dup", over, s, "dup2")
                self.has[t][s] = self.has[t][over]
        else:
            self.add("peer", *r.choice((("send", r.randrange(6), 500), ("connect", r.choice((3, 4, 5))), ("sendto", r.choice((3, 4, 5)), 100))))
        if r.random() < 0.6:
            self.add("peer", *r.choice((("send", r.randrange(6), 600), ("connect", r.choice((3, 4, 5))), ("sendto", r.choice((3, 4, 5)), 100), ("shut", r.randrange(6)))))
        if r.random() < 0.5:
            self.add(t, "signal", r.choice((signal.SIGUSR1, signal.SIGUSR2)))

    def flags_step(self):
        r = self.r
        a, s = self.some("cud")
        if s:
            self.add("peer", *(("send", r.randrange(6), r.choice((1, 100, 3000))) if self.has[a][s] == "c" else ("sendto", r.choice((3, 4, 5)), r.choice((0, 100, 1472)))))
            fl = sum(f for f in (A.MSG_PEEK, A.MSG_WAITALL, A.MSG_TRUNC, A.MSG_DONTWAIT) if r.random() < 0.4)
            self.add(a, "timeo", s, r.choice((20, 30)))
            self.add(a, *(("recvmsg", s, r.choice((2, 50, 200, 65536)), fl)))

    def steal_step(self):
        a, s = self.some("cudl")
        to = self.r.choice([x for x in self.has if x != a and self.threads.get(x, x) != self.threads.get(a, a)] or [a])
        if s and to != a:
            self.share_sets(a)
            self.add(to, "steal", a, s, self.new(to, self.has[a][s]))

    def again_step(self):
        """A connected datagram socket is connected elsewhere, or disconnected."""
        r = self.r
        a, s = self.some("ud")
        if s:
            for _ in range(r.randint(1, 3)):
                self.add(*r.choice(((a, "connect", s, "peer", 1), (a, "connect", s, "peer", 6), (a, "connect", s, "own", 4), (a, "disconnect", s),
                                    (a, "send", s, 10, A.MSG_DONTWAIT), ("peer", "sendto", r.choice((3, 4, 5)), 100), (a, "recv", s, 1000, A.MSG_DONTWAIT),
                                    (a, "name", s, "getsockname", "base"), (a, "name", s, "getpeername", "base"))))

    def ready_step(self):
        a = self.actor()
        self.add(a, "poll")

    def epoll_step(self):
        r = self.r
        a, ep = self.some("eE")
        if ep is None:
            return self.add(*(lambda a: (a, "epoll", self.new(a, "e")))(self.actor()))
        if r.random() < 0.5 or self.has[a][ep] == "E":
            return self.add(a, "epoll_wait", ep, 0)
        _, s = self.some("cudl", a)
        if s:
            self.add(a, "epoll_ctl", ep, r.choice((1, 1, 1, 2, 3)), s, r.choice(EVENTS))

    def end_step(self):
        r = self.r
        a, s = self.some()
        if s is None:
            return
        what = r.choice(("close", "close", "shutdown", "dup", "dup", "stdio"))
        if what == "close":
            self.add(a, "close", s)
            del self.has[a][s]
        elif what == "shutdown":
            self.add(a, "shutdown", s, r.choice((0, 1, 1, 2)))
        elif what == "stdio":
            if a != "M" and a not in self.threads:
                self.add(a, "stdio", s, r.choice((0, 1, 2)))
        else:
            _, over = self.some("", a)
            how = r.choice(("dup", "dup2", "dup3", "dupfd"))
            kind = self.has[a][s]
            if how == "dup2" and over != s:
                self.add(a, "dup", s, over, how)
                self.has[a][over] = kind
            else:
                self.add(a, "dup", s, self.new(a, kind), "dup" if how == "dup2" else how)

    def misc_step(self):
        r = self.r
        a, s = self.some("cudl")
        if s:
            self.add(a, *r.choice((("name", s, "getsockname", "base"), ("name", s, "getpeername", "base"), ("option", s, 1, 4), ("option", s, 6, 11),
                                   ("inq", s), ("set", s, 1, 9, 1), ("set", s, 6, 1, 1), ("nonblock", s, r.choice((0, 1))), ("disconnect", s),
                                   ("timeo", s, 30), ("select", s, 0))))


# Programs that differed, in short: (family, steps).
CASES = {
    "a child uses a connection that another child has had handed back": (4, (
        ("M", "socket", 1, "fam", 1), ("M", "connect", 1, "peer", 0), ("M", "fork", "P1"), ("M", "fork", "P2"),
        ("P1", "recv", 1, 50, 0), ("P2", "poll"), ("P2", "send", 1, 10, 0), ("P2", "shutdown", 1, 1))),
    "nobody is told of a connection when a program gets the listener": (4, (
        ("M", "socket", 1, "fam", 1), ("M", "bind", 1, "any", 4), ("M", "listen", 1), ("M", "fork", "P1"),
        ("P1", "poll_one", 1, 1, 5000), ("M", "spawn", "P2", "popen", [1], False), ("M", "poll"))),
    "a child sees the reset of a connection that came by a listener": (4, (
        ("M", "socket", 1, "fam", 1), ("M", "bind", 1, "any", 5), ("M", "listen", 1), ("peer", "connect", 5), ("M", "accept", 1, 2),
        ("M", "fork", "P1"), ("peer", "reset", 0), ("P1", "poll"), ("P1", "recv", 2, 50, 0), ("M", "poll"))),
    "what was accepted and reset is still so beside another program": (6, (
        ("M", "socket", 1, "fam", 1), ("M", "bind", 1, "any", 5), ("M", "listen", 1), ("peer", "connect", 5), ("M", "accept", 1, 2),
        ("peer", "shut", 0), ("peer", "reset", 0), ("M", "spawn", "P1", "popen", [1, 2], False), ("M", "poll"))),
    "a reset after the peer's end is EPIPE in a child, too": (6, (
        ("M", "socket", 1, "fam", 1), ("M", "connect", 1, "peer", 0), ("M", "fork", "P1"), ("peer", "shut", 0), ("peer", "reset", 0),
        ("P1", "recv", 1, 50, 0), ("P1", "send", 1, 10, 0))),
    "a connection ends with the only process that has it, a child": (4, (
        ("M", "socket", 1, "fam", 1), ("M", "connect", 1, "peer", 0), ("M", "fork", "P1"), ("M", "close", 1), ("peer", "sleep", 900),
        ("P1", "kill"))),
    "what a thread with descriptors of its own has accepted ends with it": (4, (
        ("M", "socket", 1, "fam", 1), ("M", "bind", 1, "any", 4), ("M", "listen", 1), ("peer", "connect", 4), ("M", "thread", "T1", True),
        ("T1", "accept", 1, 2), ("peer", "connect", 4), ("T1", "accept", 1, 3))),
    "a connection that was reset has its name in a child": (6, (
        ("M", "socket", 1, "fam", 1), ("M", "connect", 1, "peer", 0), ("M", "fork", "P1"), ("peer", "reset", 0),
        ("P1", "name", 1, "getsockname", "base"))),
    "a disconnected connection leaves its error to a child, too": (4, (
        ("M", "socket", 1, "fam", 1), ("M", "connect", 1, "peer", 0), ("M", "disconnect", 1), ("M", "fork", "P1"), ("P1", "poll"),
        ("P1", "option", 1, 1, 4), ("M", "poll"))),
    "a disconnected connection leaves its error to another program, too": (6, (
        ("M", "socket", 1, "fam", 1), ("M", "connect", 1, "peer", 0), ("M", "disconnect", 1), ("M", "spawn", "P1", "popen", [1], False),
        ("P1", "poll"), ("M", "option", 1, 1, 4), ("P1", "poll"))),
    "a signal ends a call that has some of its bytes, SA_RESTART or not": (4, (
        ("M", "socket", 1, "fam", 1), ("M", "connect", 1, "peer", 0), ("M", "thread", "T1", False), ("M", "timeo", 1, 0),
        ("T1", "recv", 1, 1000, 256), ("T1", "signal", 10), ("peer", "send", 0, 600), ("T1", "signal", 10))),
    "a listener that is disconnected resets what waits": (4, (
        ("M", "socket", 1, "fam", 1), ("M", "bind", 1, "own", 3), ("M", "listen", 1), ("peer", "connect", 3), ("M", "disconnect", 1))),
    "accept goes on when another file takes its number": (4, (
        ("M", "socket", 1, "fam", 1), ("M", "bind", 1, "own", 3), ("M", "listen", 1), ("M", "thread", "T1", False), ("T1", "timeo", 1, 0),
        ("T1", "accept", 1, 2), ("M", "null", 1), ("peer", "connect", 3), ("T1", "send", 2, 10, 0))),
    "a restarted accept looks its number up": (6, (
        ("M", "socket", 1, "fam", 1), ("M", "bind", 1, "any", 3), ("M", "listen", 1), ("M", "thread", "T1", False), ("T1", "timeo", 1, 0),
        ("T1", "accept", 1, 2), ("M", "null", 1), ("T1", "signal", 10), ("peer", "connect", 3))),
    "a poll holds a connection that is closed until it is woken": (4, (
        ("M", "socket", 1, "fam", 1), ("M", "connect", 1, "peer", 0), ("M", "thread", "T1", False), ("T1", "poll_one", 1, 1, 5000),
        ("M", "close", 1), ("peer", "sleep", 20), ("peer", "send", 0, 10))),
    "a datagram comes to a receiver whose socket was closed": (6, (
        ("M", "socket", 1, "fam", 2), ("M", "bind", 1, "own", 4), ("M", "thread", "T1", False), ("T1", "timeo", 1, 0),
        ("T1", "recv", 1, 1000, 0), ("M", "close", 1), ("peer", "sendto", 4, 100), ("peer", "sendto", 4, 100))),
    "a program that a child starts gets what waits in a datagram socket": (4, (
        ("M", "socket", 1, "fam", 2), ("M", "bind", 1, "own", 5), ("M", "fork", "P1"), ("peer", "sendto", 5, 0),
        ("P1", "spawn", "P2", "popen", [1], False), ("P2", "read", 1, 60000), ("peer", "sendto", 5, 100), ("P2", "read", 1, 60000))),
    "a descriptor that a child takes of a parent's listener is the parent's listener": (4, (
        ("M", "socket", 1, "fam", 1), ("M", "bind", 1, "own", 3), ("M", "listen", 1), ("peer", "connect", 3), ("M", "fork", "P1"),
        ("P1", "steal", "M", 1, 2), ("P1", "poll_one", 2, 1, 5000))),
    "a program that gets a listener keeps its time-out": (4, (
        ("M", "socket", 1, "fam", 1), ("M", "listen", 1), ("M", "spawn", "P1", "fork", [1], False), ("P1", "accept", 1, 2))),
    "a program that is started by vfork accepts what waits": (6, (
        ("M", "socket", 1, "fam", 1), ("M", "bind", 1, "own", 4), ("M", "listen", 1), ("peer", "connect", 4),
        ("M", "spawn", "P1", "popen", [1], False), ("P1", "accept", 1, 2))),
    "a program that is started by posix_spawn accepts what waits": (6, (
        ("M", "socket", 1, "fam", 1), ("M", "bind", 1, "own", 4), ("M", "listen", 1), ("peer", "connect", 4),
        ("M", "spawn", "P1", "posix", [1], True), ("P1", "accept", 1, 2))),
    "a poll holds a connection that is closed while a child has it": (4, (
        ("M", "socket", 1, "fam", 1), ("M", "connect", 1, "peer", 0), ("M", "fork", "P1"), ("M", "thread", "T1", False),
        ("T1", "poll_one", 1, 1, 5000), ("M", "close", 1), ("peer", "sleep", 20), ("peer", "send", 0, 10), ("P1", "recv", 1, 50, 0))),
    "a poll holds a connection whose number another takes": (4, (
        ("M", "socket", 1, "fam", 1), ("M", "connect", 1, "peer", 0), ("M", "socket", 2, "fam", 1), ("M", "connect", 2, "peer", 0),
        ("M", "thread", "T1", False), ("T1", "poll_one", 2, 1, 5000), ("M", "dup", 1, 2, "dup2"), ("peer", "send", 1, 600))),
    "a child gets the error of a connection whose process has ended": (4, (
        ("M", "socket", 1, "fam", 1), ("M", "connect", 1, "peer", 0), ("M", "fork", "P1"), ("peer", "send", 0, 100), ("peer", "reset", 0),
        ("M", "exit"), ("P1", "recv", 1, 50, 0))),
    "a child keeps the connection of a process that ends by _exit": (4, (
        ("M", "socket", 1, "fam", 1), ("M", "connect", 1, "peer", 0), ("M", "fork", "P1"), ("M", "exit"), ("peer", "send", 0, 10),
        ("P1", "recv", 1, 50, 0), ("P1", "send", 1, 10, 0))),
    "a child keeps the connection of a process that is killed": (4, (
        ("M", "socket", 1, "fam", 1), ("M", "connect", 1, "peer", 0), ("M", "fork", "P1"), ("M", "kill"), ("peer", "sleep", 100),
        ("peer", "send", 0, 10), ("P1", "recv", 1, 50, 0), ("P1", "send", 1, 10, 0), ("peer", "recv", 0), ("P1", "close", 1))),
    "a child goes on at once when its parent is killed": (4, (
        ("M", "socket", 1, "fam", 1), ("M", "connect", 1, "peer", 0), ("M", "fork", "P1"), ("M", "kill"), ("P1", "send", 1, 10, 0),
        ("peer", "recv", 0), ("P1", "close", 1))),
    "a child keeps what a process that is killed had accepted": (4, (
        ("M", "socket", 1, "fam", 1), ("M", "bind", 1, "any", 5), ("M", "listen", 1), ("peer", "connect", 5), ("M", "accept", 1, 2),
        ("peer", "send", 0, 10), ("M", "recv", 2, 50, 0), ("M", "fork", "P1"), ("M", "kill"), ("peer", "sleep", 100),
        ("peer", "send", 0, 10), ("P1", "recv", 2, 50, 0), ("P1", "send", 2, 10, 0), ("peer", "shut", 0), ("P1", "close", 2))),
    "children share the connection of a process that is killed": (6, (
        ("M", "socket", 1, "fam", 1), ("M", "connect", 1, "peer", 0), ("peer", "send", 0, 100), ("M", "fork", "P1"), ("P1", "fork", "P2"),
        ("M", "kill"), ("peer", "sleep", 100), ("P2", "recv", 1, 50, 0), ("P1", "recv", 1, 50, 0), ("P2", "kill"),
        ("peer", "sleep", 100), ("P1", "send", 1, 10, 0), ("peer", "recv", 0), ("P1", "close", 1))),
    "a child reads what a process that is killed had not read": (6, (
        ("M", "socket", 1, "fam", 1), ("M", "connect", 1, "peer", 0), ("peer", "send", 0, 100), ("peer", "send", 0, 3000), ("M", "fork", "P1"),
        ("peer", "send", 0, 10), ("peer", "send", 0, 20), ("M", "kill"), ("peer", "sleep", 100), ("P1", "recv", 1, 50, 0),
        ("P1", "recv", 1, 60000, 0), ("P1", "send", 1, 10, 0), ("peer", "recv", 0), ("P1", "close", 1))),
    "a program keeps the connection that a killed process has passed to it": (4, (
        ("M", "fork", "P1"), ("M", "socket", 1, "fam", 1), ("M", "connect", 1, "peer", 0), ("M", "give", 1, "P1", 2), ("M", "kill"),
        ("peer", "sleep", 100), ("peer", "send", 0, 10), ("P1", "recv", 2, 50, 0), ("P1", "send", 2, 10, 0), ("P1", "close", 2))),
    "a program in another root uses a listener that it was given": (6, (
        ("M", "socket", 1, "fam", 1), ("M", "bind", 1, "own", 5), ("M", "listen", 1), ("peer", "connect", 5), ("M", "nonblock", 1, 1),
        ("M", "fork", "P1"), ("P1", "exec", True), ("P1", "chroot"), ("P1", "poll"), ("P1", "accept", 1, 2))),
    "a child accepts what was reset while it waited": (4, (
        ("M", "socket", 1, "fam", 1), ("M", "bind", 1, "own", 4), ("M", "listen", 1), ("peer", "connect", 4), ("peer", "send", 0, 10),
        ("peer", "reset", 0), ("M", "fork", "P1"), ("P1", "accept", 1, 2, 524288), ("P1", "recv", 2, 50, 0), ("P1", "send", 2, 10, 0))),
    "another program accepts what was reset while it waited": (6, (
        ("M", "socket", 1, "fam", 1), ("M", "bind", 1, "own", 4), ("M", "listen", 1), ("peer", "connect", 4), ("peer", "shut", 0),
        ("peer", "reset", 0), ("M", "spawn", "P1", "posix", [1], False), ("P1", "accept", 1, 2), ("P1", "recv", 2, 50, 0))),
    "another program shuts a listener down with what waits": (4, (
        ("M", "socket", 1, "fam", 1), ("M", "bind", 1, "own", 4), ("M", "listen", 1), ("peer", "connect", 4), ("M", "fork", "P1"),
        ("P1", "exec", True), ("P1", "shutdown", 1, 2), ("P1", "poll"), ("M", "poll"), ("M", "accept", 1, 2), ("peer", "connect", 4))),
    "a child disconnects a listener with what waits": (4, (
        ("M", "socket", 1, "fam", 1), ("M", "bind", 1, "any", 4), ("M", "listen", 1), ("peer", "connect", 4), ("M", "fork", "P1"),
        ("peer", "connect", 4), ("P1", "poll"), ("P1", "disconnect", 1), ("peer", "sleep", 300))),
    "a poll wakes when its listener is shut down": (6, (
        ("M", "socket", 1, "fam", 1), ("M", "listen", 1), ("M", "spawn", "P1", "posix", [1], False), ("P1", "thread", "T1", False),
        ("T1", "poll_one", 1, 1, 5000), ("P1", "shutdown", 1, 0), ("P1", "poll"), ("M", "poll"))),
    "a process that has closed its connection ends without a reset": (4, (
        ("M", "socket", 1, "fam", 1), ("M", "connect", 1, "peer", 0), ("M", "send", 1, 100, 0), ("M", "close", 1), ("peer", "sleep", 100),
        ("M", "exit"), ("peer", "sleep", 100), ("peer", "recv", 0), ("peer", "recv", 0))),
    "a receiver wakes when another program shuts its socket down": (6, (
        ("M", "socket", 1, "fam", 2), ("M", "bind", 1, "own", 4), ("M", "spawn", "P1", "fork", [1], False), ("M", "thread", "T1", False),
        ("T1", "timeo", 1, 5000), ("T1", "recv", 1, 1000, 0), ("P1", "shutdown", 1, 0), ("peer", "sleep", 100))),
    "a datagram in fragments comes after those before it": (6, (
        ("M", "socket", 1, "fam", 2), ("M", "bind", 1, "own", 3), ("peer", "sendto", 3, 100), ("peer", "sendto", 3, 1472),
        ("M", "recv", 1, 60000, 2), ("M", "recv", 1, 60000, 0), ("M", "recv", 1, 60000, 0))),
    "a datagram socket that another program has shut down is so": (4, (
        ("M", "socket", 1, "fam", 2), ("M", "bind", 1, "own", 4), ("M", "spawn", "P1", "fork", [1], False), ("P1", "shutdown", 1, 0),
        ("M", "poll"), ("M", "recv", 1, 50, 0), ("P1", "shutdown", 1, 2), ("M", "poll"), ("M", "sendto", 1, 10, "peer", 1))),
    "a killed process's connection ends with the last child that has it": (4, (
        ("M", "socket", 1, "fam", 1), ("M", "connect", 1, "peer", 0), ("M", "fork", "P1"), ("M", "kill"), ("peer", "sleep", 1500),
        ("P1", "kill"))),
    "a program takes a connection by pidfd_getfd": (4, (
        ("M", "socket", 1, "fam", 1), ("M", "connect", 1, "peer", 0), ("M", "socket", 2, "fam", 2), ("M", "spawn", "P1", "popen", [2], False),
        ("P1", "steal", "M", 1, 4), ("P1", "send", 4, 100, 0), ("M", "exit"), ("P1", "recv", 4, 50, 0x40), ("P1", "close", 4))),
    "a socket that comes back by pidfd_getfd is the same one": (4, (
        ("M", "socket", 1, "fam", 2), ("M", "bind", 1, "own", 4), ("M", "fork", "P1"), ("peer", "sendto", 4, 100),
        ("M", "steal", "P1", 1, 3), ("M", "recv", 3, 50, 2))),
}


# The conductor --------------------------------------------------------------------------------------
class Peer:
    def __init__(self, host, port):
        self.conns, self.n = [], 0
        self.listener, self.dgram = [A.socket(A.AF_INET6 if ":" in host else A.AF_INET, k) for k in (A.SOCK_STREAM, A.SOCK_DGRAM)]
        for i, s in enumerate((self.listener, self.dgram)):
            s.setsockopt(A.SOL_SOCKET, A.SO_REUSEADDR, 1)
            s.bind((host, port + i))
            s.setblocking(False)
        self.listener.listen(16)

    def do(self, own, base, op, *a):
        try:
            if op == "connect":
                s = A.socket(self.dgram.family, A.SOCK_STREAM)
                s.setblocking(False)
                self.conns.append(s)
                return errno.errorcode.get(s.connect_ex((own, base + a[0])))
            if op == "sleep":
                return time.sleep(a[0] / 1000)
            if op == "sendto":
                return self.dgram.sendto(b"p" * a[1], (own, base + a[0]))
            live = [s for s in self.conns if s.fileno() >= 0]
            if not live:
                return "none"
            s = live[a[0] % len(live)]
            if op == "send":
                self.n += 1
                return s.send(bytes([self.n & 255]) * a[1])
            if op == "recv":
                raw = s.recv(1 << 20)
                return len(raw), zlib.crc32(raw)
            if op == "shut":
                return s.shutdown(A.SHUT_WR)
            if op == "reset":
                s.setsockopt(A.SOL_SOCKET, A.SO_LINGER, struct.pack("ii", 1, 0))
            return s.close()
        except OSError as e:
            return errno.errorcode[e.errno]

    def look(self):
        """State and bytes unread of each connection, and the datagrams that have come."""
        while True:
            try:
                s = self.listener.accept()[0]
            except OSError:
                break
            s.setblocking(False)
            self.conns.append(s)
        out = []
        for s in self.conns:
            if s.fileno() < 0:
                out.append("-")
                continue
            inq = ctypes.c_int(0)
            c.ioctl(s.fileno(), ctypes.c_ulong(0x541B), ctypes.byref(inq))
            out.append(f"{s.getsockopt(A.IPPROTO_TCP, A.TCP_INFO, 1)[0]}:{inq.value}")
        while True:
            try:
                out.append(f"udp {len(self.dgram.recv(70000))}")
            except BlockingIOError:
                return " ".join(out)
            except OSError as e:
                out.append(errno.errorcode[e.errno])

    def close(self):
        for s in [*self.conns, self.listener, self.dgram]:
            s.close()


class Gone(Exception):
    pass


class Far:
    """An actor as the conductor sees it."""

    def __init__(self, conn, name, pid, tid):
        self.conn, self.name, self.pid, self.tid, self.waits = conn, name, pid, tid, False
        self.starts = 0  # calls in which the library may still come up

    def answer(self, seconds):
        if not select.select([self.conn], [], [], seconds)[0]:
            return None
        try:
            msg, self.fds, *_ = A.recv_fds(self.conn, 100000, 1)
        except OSError:
            msg = b""
        if not msg:
            raise Gone
        self.waits = False
        return eval(msg)


class Conductor:
    def __init__(self, own, peer, base):
        self.hosts, self.base = {4: (own[0], peer[0]), 6: (own[1], peer[1])}, base
        self.srv = A.socket(A.AF_UNIX, A.SOCK_SEQPACKET)
        self.srv.bind(control)
        os.chmod(control, 0o777)
        self.srv.listen(16)
        self.came, self.roots, self.main = {}, {}, {}
        for _ in range(2):
            self.hear()
        self.roots = dict(self.came)
        self.came = {}

    def hear(self, seconds=30):
        if not select.select([self.srv], [], [], seconds)[0]:
            return False
        conn = self.srv.accept()[0]
        name, pid, tid = eval(conn.recv(1000))
        self.came[name] = Far(conn, name, pid, tid)
        return True

    def await_actor(self, name):
        end = time.monotonic() + 20
        while name not in self.came and time.monotonic() < end:
            self.hear(1)
        return self.came.pop(name, None)

    def fresh(self, root):
        """The main process of a root: a program of its own, whose first sockets wait for the device."""
        m = self.main.get(root)
        if m:
            return m
        self.n = getattr(self, "n", 0) + 1
        name = f"M{self.n}"
        r = self.roots[root]
        r.conn.send(repr(("spawn", name, "popen", [], root == "kernel")).encode())
        r.answer(10)
        m = self.main[root] = self.await_actor(name)
        if root == "us":
            for fam in (A.AF_INET, A.AF_INET6):
                own, peer = self.hosts[4 if fam == A.AF_INET else 6]
                for kind in (A.SOCK_DGRAM, A.SOCK_STREAM):
                    for step in (("socket", 1, int(fam), int(kind)), ("connect", 1, peer, self.base + 7), ("close", 1)):
                        m.conn.send(repr(step).encode())
                        m.answer(20)
            time.sleep(0.5)  # it is quiet then
        return m

    def run(self, root, fam, steps, settle, mortal):
        """Returns lines."""
        self.base = self.base + PORTS if self.base < 58000 else 5000
        own, host = self.hosts[fam]
        peer = Peer(host, self.base)
        actors, out = {"M": self.fresh(root)}, []
        words = {"own": own, "peer": host, "any": "::" if fam == 6 else "0.0.0.0", "fam": int(A.AF_INET6 if fam == 6 else A.AF_INET), "base": self.base}

        def gone(name):
            actors.pop(name).conn.close()
            if name == "M":
                self.main.pop(root)

        def tell(name, op, *args, fds=()):
            a = actors.get(name)
            if not a:
                return "gone"
            if a.waits:
                return "busy"
            try:
                msg = repr((op, *args)).encode()
                A.send_fds(a.conn, [msg], fds) if fds else a.conn.send(msg)
                a.waits = True
                slow = op in ("fork", "thread", "spawn", "exec", "give", "take", "setuid", "end")
                a.starts -= not slow
                r = a.answer(20 if slow else 2 if a.starts >= 0 else max(0.15, settle * 12))
                return "waits" if r is None else r
            except (Gone, OSError):
                if op == "exec":
                    a.conn.close()
                    actors.pop(name)
                    b = self.await_actor(a.name)
                    if b:
                        actors[name] = b
                        b.starts = 2
                        if name == "M":
                            self.main[root] = b
                        return "ok"
                    if name == "M":
                        self.main.pop(root, None)
                    return "lost"
                gone(name)
                if root == "kernel" and op != "exit":
                    sys.exit(f"{name} ends by itself in {op}")
                return "ended"

        def note(i, what, result):
            time.sleep(settle)
            late = []
            for name in sorted(actors):
                a = actors[name]
                if a.waits:
                    try:
                        r = a.answer(0)
                        if r is not None:
                            late.append(f"{name} gets {r}")
                    except Gone:
                        gone(name)
                        late.append(f"{name} ended")
            out.append(f"{i} {what} -> {result}{' | ' + ', '.join(late) if late else ''} [{peer.look()}]")

        for i, (name, op, *args) in steps:
            what = f"{name} {op} {' '.join(map(str, args))}"
            args = [words.get(x, x) if isinstance(x, str) else x for x in args]
            if op in ("bind", "sendto") and name != "peer" or op == "connect" and name != "peer":
                args[-1] += self.base
            if name == "peer":
                result = peer.do(own, self.base, op, *args)
            elif op == "signal":
                result = "none"
                if name in actors:
                    c.syscall(234, actors[name].pid, actors[name].tid, args[0])
                    result = "sent"
            elif op == "kill":
                result = "none"
                if name in actors:
                    os.kill(actors[name].pid, 9)
                    try:
                        while actors[name].answer(5) is not None:
                            pass
                        result = "lives"
                    except Gone:
                        gone(name)
                        result = "killed"
            elif op == "give":
                result = tell(name, "give", args[0])
                if result == "ok":
                    fds = actors[name].fds
                    result = tell(args[1], "take", args[2], fds=fds)
                    for fd in fds:
                        os.close(fd)
            elif op == "steal":
                result = tell(args[0], "number", args[1])
                if isinstance(result, int):
                    result = tell(name, "steal", args[2], actors[args[0]].pid, result)
            elif op in ("fork", "thread", "spawn"):
                real = f"{args[0]}.{self.base}"
                result = tell(name, op, real, *args[1:])
                if result == "ok":
                    b = self.await_actor(real)
                    if b:
                        actors[args[0]] = b
                        b.starts = 2 * (op == "spawn")
                    else:
                        result = "lost"
            else:
                result = tell(name, op, *args)
            note(i, what, result)
        # The end: threads and children first.
        for name in sorted(actors, key=lambda n: n == "M"):
            a = actors.get(name)
            if a is None:
                continue
            try:
                for _ in range(100):
                    if not a.waits:
                        break
                    c.syscall(234, a.pid, a.tid, signal.SIGUSR2)
                    a.answer(0.1)
                if a.waits:
                    out.append(f"end {name} HANGS")
                    os.kill(a.pid, 9)
                    a.answer(5)
                if name == "M":
                    note("end", "M closes", tell("M", "end"))
                else:
                    if name[0] == "T":
                        a.conn.send(b"('quit',)")
                        a.conn.close()
                        actors.pop(name)
                    else:
                        os.kill(a.pid, 9)
                        while a.answer(5) is not None:
                            pass
            except (Gone, OSError):
                gone(name)
                note("end", f"{name} ends", "")
        peer.close()
        if "M" in actors and (mortal or any(s[1] in ("stdio", "setuid", "chroot", "thread") and s[0] == "M" and s[-1] is not False for _, s in steps)):
            os.kill(actors["M"].pid, 9)
            gone("M")
        return out

    def differs(self, p, steps, settle):
        """The first line that differs, after those before it; None: there is none."""
        return self.compare(p.fam, steps, settle, p.mortal)

    def compare(self, fam, steps, settle, mortal=False):
        k, u = (self.run(root, fam, steps, settle, mortal) for root in ("kernel", "us"))
        for i, (x, y) in enumerate(zip(k + ["end"], u + ["end"])):
            if x != y:
                return k[:i], x, y
        return None

    def shrink(self, p, steps, settle):
        size = max(1, len(steps) // 2)
        best = None
        while True:
            i = 0
            while i < len(steps):
                less = steps[:i] + steps[i + size:]
                d = self.differs(p, less, settle) if less else None
                if d:
                    best = d
                    last = int(d[1].split()[0]) if d[1].split()[0].isdigit() else 1000
                    steps = [s for s in less if s[0] <= last]
                else:
                    i += size
            if size == 1:
                return best, steps
            size //= 2

    def seed(self, seed):
        p = Program(seed)
        steps = list(enumerate(p.steps))
        if os.environ.get("ONLY"):  # the program with some of its steps; several such, with ; between them
            same = True
            for only in os.environ["ONLY"].split(";"):
                some = [s for s in steps if s[0] in map(int, only.split())]
                d = self.differs(p, some, 0.03)
                print(f"({only}) differs:" if d else f"({only}) does not differ",
                      *([*d[0], "kernel: " + d[1], "us:     " + d[2]] if d else ()), sep="\n  ", flush=True)
                same = same and not d
            return same
        d = self.differs(p, steps, 0.004) and self.differs(p, steps, 0.05)
        if not d:
            return True
        print(f"seed {seed}: {d[1]}\n  by us: {d[2]}", flush=True)
        if os.environ.get("SHRINK", "yes") == "yes":
            s, _ = self.shrink(p, steps, 0.03)
            if s:
                print("  shortest:", *s[0], "kernel: " + s[1], "by us: " + s[2], sep="\n    ", flush=True)
        return False


def conduct():
    own, peer = sys.argv[2:4], sys.argv[4:6]
    base, *seeds = map(int, sys.argv[6:])
    failed = None
    con = Conductor(own, peer, base)
    for what, (fam, steps) in CASES.items():
        steps = list(enumerate(steps))
        mortal = any(s[:2] in (("M", "exit"), ("M", "kill")) for _, s in steps)
        d = con.compare(fam, steps, 0.01, mortal) and con.compare(fam, steps, 0.05, mortal)
        print(f"differs: {what}: kernel: {d[1]}, by us: {d[2]}" if d else f"as by the kernel: {what}", flush=True)
        failed = failed or d
    bad = [s for s in seeds if not con.seed(s)]
    print(f"{len(seeds)} programs, {len(bad)} differ: {bad}", flush=True)
    sys.exit(bool(bad or failed))


conduct()
