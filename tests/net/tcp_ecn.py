# SPDX-License-Identifier: BSD-2-Clause
"""tcp_ecn.py DEVICE GHOST GHOST_MAC SUBJECT SUBJECT_MAC FAR TCP_ECN: who asks for ECN and answers it, with every
combination of the three flags (AE, CWR, ECE) and of IP's two bits. A line for each segment of the subject; they
are the kernel's."""
import sys

from segscript import *

faulthandler.cancel_dump_traceback_later()
faulthandler.dump_traceback_later(100, exit=True)
ACES = ["", "E", "W", "WE", "A", "AE", "AW", "AWE"]  # by value


def told(f, s):
    if s is None:
        return "nothing"
    seq, ack = f.relative(s)
    ace = (s.flags >> 8 & 1) << 2 | (s.flags >> 7 & 1) << 1 | s.flags >> 6 & 1
    text = "".join(c for c, b in FLAGS.items() if s.flags & b and c not in "PEWA")
    text += f" {seq}({len(s.data)})" + (f" ack {ack}" if s.flags & 16 else "")
    text += f" ace {ace} ect {s.tos & 3}"
    return text


class Run:
    def __init__(self, t, value):
        self.t, self.value = t, value

    def begin(self, what):
        self.t.begin()
        self.what = what

    def get(self, f):
        self.say(told(f, f.take()))

    def say(self, text):
        say(f"tcp_ecn {self.value} {self.what}: {text}")

    def put(self, f, spec, tos=0):
        f.net.send(f.net.frame(f.seg(spec), tos=tos))

    # Both ends of a handshake --------------------------------------------------------------------
    def server(self, ace, ect, opts=OPTS):
        """A SYN with these flags, marked so by IP."""
        ls = self.t.listen()
        f = self.t.flow()
        self.put(f, f"S{ACES[ace]} 0:0(0) win 32792 <{opts}>", ect)
        self.get(f)
        return ls, f

    def asked(self):
        for ace in range(8):
            for ect in (0, 1, 2, 3) if ace in (3, 7) else (0,):
                self.begin(f"SYN ace {ace} ect {ect}")
                self.server(ace, ect)
                self.t.end()

    def client(self, ace, ect):
        s = self.t.keep(self.t.far.begin_connect(self.t.net.addr, self.t.port))
        f = self.t.flow(0)
        self.t.net.flows.pop((f.sport, f.dport))
        f.sport, f.dport = self.t.port, s.getsockname()[1]
        self.t.net.flows[(f.sport, f.dport)] = f
        self.get(f)
        self.put(f, f"S.{ACES[ace]} 0:0(0) ack 1 win 32792 <{OPTS}>", ect)
        self.get(f)
        return f, s

    def answered(self):
        """(Linux takes the other flags, for which it has not asked, for Accurate ECN.)"""
        for ace in (0, 1, 7):
            for ect in range(4):
                self.begin(f"SYN-ACK ace {ace} ect {ect}")
                f, s = self.client(ace, ect)
                s.send(payload(1, 10))
                self.get(f)
                self.put(f, ". 1:1(0) ack 11")
                self.say(s.getsockopt(TCP, socket.TCP_INFO, 104)[5] & 8)
                self.t.end()

    def marked(self):
        """A SYN's flags; then marks on data, and the echo of a mark."""
        for flags in ("WE", "AWE"):
            self.begin(f"marked {flags}")
            ls = self.t.listen()
            f = self.t.flow()
            self.put(f, f"S{flags} 0:0(0) win 32792 <{OPTS}>")
            self.get(f)
            self.put(f, ". 1:1(0) ack 1 win 257")
            s, _ = ls.accept()
            self.t.keep(s)
            at = 1
            for flags, tos in ((".", 2), (".", 3), (".", 2), (".W", 2), (".W", 3), (".", 2)):
                self.put(f, f"P{flags} {at}:{at + 100}(100) ack 1", tos)
                at += 100
                self.get(f)
            s.setsockopt(TCP, socket.TCP_NODELAY, 1)
            for n, flags in enumerate((".", ".E", ".", ".E")):
                s.send(payload(1 + 100 * n, 100))
                self.get(f)
                self.put(f, f"{flags} {at}:{at}(0) ack {101 + 100 * n}")
                time.sleep(0.02)
                self.say(s.getsockopt(TCP, socket.TCP_INFO, 104)[5] & 8)
            self.t.end()


def main():
    device, ghost, ghost_mac, subject, subject_mac, ctl, value = sys.argv[1:]
    r = Run(T(Net(device, ghost_mac, ghost, subject_mac, subject), Far(ctl)), value)
    r.asked()
    r.answered()
    r.marked()


main()
