# SPDX-License-Identifier: BSD-2-Clause
"""The objects that a script of tcp_segments.py works with: the wire, the subject's host, and expectations."""
from segpeer import *
from tcplib import *

OPTS = "mss 1000,sackOK,wscale 7"


class T:
    """One script: the wire, the subject's host, a port of its own."""

    def __init__(self, net, far):
        self.net, self.far, self.port = net, far, 7100

    def begin(self):
        self.port += 1
        self.flows, self.sockets = [], []

    def flow(self, sport=None):
        f = self.net.flow(self.port, sport)
        self.flows.append(f)
        return f

    def keep(self, s):
        self.sockets.append(s)
        return s

    def listen(self, sockopts=(), backlog=5):
        s = self.keep(self.far.tcp(self.net.their_addr, self.port, None))
        for level, name, value in sockopts:
            s.setsockopt(level, name, value)
        s.listen(backlog)
        return s

    def shake(self, f, opts=OPTS, win=32792):
        """A handshake that the script begins."""
        f.put(f"S 0:0(0) win {win} <{opts}>")
        f.scale = f.get("S. 0:0(0) ack 1").opts.get("wscale", 0)
        ts = f" <TS {opts.split('TS ')[1].split()[0]} 0>" if "TS" in opts else ""
        f.put(f". 1:1(0) ack 1 win 257{ts}")

    def open(self, opts=OPTS, sockopts=()):
        """A connection that the script opens: flow, socket."""
        ls = self.listen(sockopts)
        f = self.flow()
        self.shake(f, opts)
        s, _ = ls.accept()
        self.keep(s)
        ls.close()
        return f, s

    def dial(self, before=None):
        """The subject connects, in a thread: flow, socket, and connect()'s result, once it has returned."""
        s = self.keep(self.far.tcp(six=self.net.six))
        s.bind((self.net.their_addr, 0))
        port = s.getsockname()[1]
        f = self.flow(self.port)
        self.net.flows.pop((f.sport, f.dport))
        f.dport = port
        self.net.flows[(f.sport, f.dport)] = f
        if before:
            before(s)
        return f, s, self.far.later(s, "connect", (self.net.addr, self.port))

    def end(self):
        for f in self.flows:
            f.drop()
        for s in self.sockets:
            attempt(s.close)


def expect(what, got, want):
    if got != want:
        raise Wrong(f"{what}: {got}, not {want}")


def readable(s):
    return "IN" in s.polled().split("|")


def gives(s, n, first=1):
    """The subject's program reads so many bytes, those of the stream."""
    expect("readable", s.arrived(n, 5.0) >= n, True)
    expect("data", s.take(n), payload(first, n))


def has_nothing(t, s):
    """No bytes have been delivered to the program but those it has read."""
    time.sleep(0.05)
    expect("readable", readable(s), False)
