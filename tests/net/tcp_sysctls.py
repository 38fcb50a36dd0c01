# SPDX-License-Identifier: BSD-2-Clause
"""tcp_sysctls.py DEVICE GHOST GHOST_MAC SUBJECT SUBJECT_MAC FAR SETTING: what a setting of net.ipv4.tcp_* does to the
connections of a process: to its segments, and to what the program sees. The lines are the kernel's."""
import sys

from segscript import *

faulthandler.cancel_dump_traceback_later()
faulthandler.dump_traceback_later(100, exit=True)
SOL_IPV6, IPV6_TCLASS = 41, 67


class Run:
    def __init__(self, t, setting):
        self.t, self.setting = t, setting

    def say(self, what, *text):
        say(f"{self.setting} {what}:", *text)

    def put(self, f, spec, tos=0):
        f.net.send(f.net.frame(f.seg(spec), tos=tos))

    def told(self, f, seconds=WAIT):
        s = f.take(seconds)
        if s is None:
            return "nothing"
        flags = "".join(c for c, b in FLAGS.items() if s.flags & b and c != "P")
        return f"{flags} {len(s.data)} tos {s.tos:#x}"

    def tos(self):
        """The handshake's ToS, that of data, and what the program reads."""
        option = (SOL_IPV6, IPV6_TCLASS) if self.t.net.six else (0, socket.IP_TOS)
        for own in (None, 0x10):
            for theirs in (0, 0x48, 0xB8, 0xBB):
                self.t.begin()
                ls = self.t.listen([(*option, own)] if own else [])
                f = self.t.flow()
                self.put(f, f"S 0:0(0) win 32792 <{OPTS}>", theirs)
                out = [self.told(f)]
                self.put(f, ". 1:1(0) ack 1 win 257", theirs)
                s, _ = ls.accept()
                self.t.keep(s)
                out += [s.getsockopt(*option), s.getsockopt(SOL, socket.SO_PRIORITY)]
                s.send(b"x")
                out.append(self.told(f))
                self.put(f, ". 1:1(0) ack 2")
                s.setsockopt(*option, 0x20)
                s.send(b"y")
                out.append(self.told(f))
                self.say(f"tos {own} {theirs:#x}", *out)
                self.t.end()

    def urgent(self):
        """Which byte is urgent."""
        for urg in (0, 1, 3, 10, 11):
            self.t.begin()
            f, s = self.t.open()
            f.put(f"PU. 1:11(10) ack 1 urg {urg}" if urg else "PU. 1:11(10) ack 1")
            f.take()
            out = [s.polled(), attempt(s.recv, 1, socket.MSG_OOB)]
            out.append(attempt(s.recv, 20))
            self.say(f"urgent {urg}", *out)
            self.t.end()

    def asks(self):
        """A SYN, and the one that repeats it."""
        self.t.begin()
        s = self.t.keep(self.t.far.begin_connect(self.t.net.addr, self.t.port))
        f = self.t.flow(0)
        self.t.net.flows.pop((f.sport, f.dport))
        f.sport, f.dport = self.t.port, s.getsockname()[1]
        self.t.net.flows[(f.sport, f.dport)] = f
        self.say("asks", self.told(f), self.told(f))
        self.t.end()

    def waits(self):
        """After our FIN and the peer's."""
        self.t.begin()
        ls = self.t.listen()
        f = self.t.flow()
        self.t.shake(f)
        s, _ = ls.accept()
        s.close()
        f.until("F. 1:1(0) ack 1")
        f.put("F. 1:1(0) ack 2")
        f.until(". 2:2(0) ack 2")
        f.put("F. 1:1(0) ack 2")
        self.say("waits", self.told(f, 1.0))
        self.t.keep(ls)
        self.t.end()

    def paced(self):
        """The rate that TCP_INFO tells, in tenths of a window for each round trip."""
        self.t.begin()
        f, s = self.t.open(sockopts=[(TCP, socket.TCP_CONGESTION, b"reno")])
        for n in range(6):
            s.send(payload(1 + 100 * n, 100))
            f.take()
            time.sleep(0.02)
            f.put(f". 1:1(0) ack {101 + 100 * n}")
            time.sleep(0.01)
        info = s.getsockopt(TCP, socket.TCP_INFO, 112)
        mss, = struct.unpack_from("I", info, 16)
        rtt, = struct.unpack_from("I", info, 68)
        cwnd, = struct.unpack_from("I", info, 80)
        rate, = struct.unpack_from("Q", info, 104)
        self.say("paced", round(rate * rtt / (mss * cwnd) / 1e5))
        self.t.end()


def main():
    device, ghost, ghost_mac, subject, subject_mac, ctl, setting = sys.argv[1:]
    r = Run(T(Net(device, ghost_mac, ghost, subject_mac, subject), Far(ctl)), setting)
    parts = {"reflect_tos": r.tos, "stdurg": r.urgent, "ecn_fallback": r.asks, "max_tw_buckets": r.waits,
             "pacing_ss_ratio": r.paced}
    for name in parts if setting == "none" else [setting.split("=")[0]]:
        parts[name]()


main()
