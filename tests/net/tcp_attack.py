# SPDX-License-Identifier: BSD-2-Clause
"""tcp_attack.py DEVICE GHOST GHOST_MAC SUBJECT SUBJECT_MAC OWN PID [ATTACK...]: attacks on an echo server
(tcp_peer, port 7000) while an honest client uses it. Prints facts that must hold on any machine: the honest client is
served, its stream is whole, memory and answers are bounded."""
import mmap
import os
import signal
import sys

from segpeer import *
from tcplib import faulthandler, is6, libc, pattern, say, take, tcp

faulthandler.cancel_dump_traceback_later()
faulthandler.dump_traceback_later(100, exit=True)
PORT = 7000
SECONDS = float(os.environ.get("ATTACK_SECONDS", 0.7))  # connections or segments of each flood


class Honest:
    """A process with short connections, one after the other, and a long one; both checked."""

    def __init__(self, own, addr):
        self.shared = mmap.mmap(-1, 4096)
        self.own, self.addr = own, addr
        self.pid = os.fork()
        if self.pid == 0:
            try:
                self.run()
            finally:
                os._exit(1)

    def counts(self):
        return struct.unpack("QQQQ", self.shared[:32])

    def bump(self, i, v=None):
        n = list(self.counts())
        n[i] = n[i] + 1 if v is None else v
        self.shared[:32] = struct.pack("QQQQ", *n)

    def run(self):
        libc.prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG: ends with its parent
        os.close(1)
        long = tcp(six=is6(self.addr))
        long.bind((self.own, 0))
        long.connect((self.addr, PORT))
        long.settimeout(20)
        long.send(b"e")
        self.bump(3, long.getsockname()[1])
        at = 0
        while True:
            try:
                s = tcp(six=is6(self.addr))
                s.settimeout(20)
                s.connect((self.addr, PORT))
                s.sendall(b"e" + pattern(3, 0, 500))
                good = take(s, 500) == pattern(3, 0, 500)
                s.close()
            except OSError:
                good = False
            self.bump(0 if good else 2)
            try:
                long.sendall(pattern(4, at, 700))
                good = take(long, 700) == pattern(4, at, 700)
                at += 700
            except OSError:
                good = False
            if not good:
                self.bump(2)
                time.sleep(0.1)
            self.bump(1)


class Watch:
    """The server's memory."""

    def __init__(self, pid):
        self.pid = pid

    def rss(self):
        for line in open(f"/proc/{self.pid}/status"):
            if line.startswith("VmRSS"):
                return int(line.split()[1])

    def cpu(self):
        f = open(f"/proc/{self.pid}/stat").read().rsplit(")", 1)[1].split()
        return (int(f[11]) + int(f[12])) / os.sysconf("SC_CLK_TCK")


class Attack:
    def __init__(self, net, spoofed, honest):
        self.net, self.spoofed, self.honest = net, spoofed, honest
        self.flows = []

    def open(self, what, opts="mss 1000,sackOK,wscale 7", win=257):
        f = self.net.flow(PORT)
        self.flows.append(f)
        for _ in range(5):  # (the flood may still fill queues on the way)
            f.put(f"S 0:0(0) win 32792 <{opts}>")
            if f.take(1.5):
                break
        else:
            raise Wrong("no answer to SYN")
        f.put(f". 1:1(0) ack 1 win {win}")
        f.put("P. 1:2(1) ack 1", what)
        return f

    def pour(self, frames, seconds=SECONDS):
        """Sends the frames again and again; returns their number."""
        end, n = time.monotonic() + seconds, 0
        while time.monotonic() < end:
            for _ in range(64):
                self.net.send(frames[n % len(frames)])
                n += 1
        return n

    def end(self):
        for f in self.flows:
            f.drop()
        self.flows = []


def syn_flood(t):
    """SYN cookies: honest clients still connect, and a handshake by cookie succeeds."""
    frames = [t.net.frame(Seg(sport=1024 + i, dport=PORT, seq=random.getrandbits(32), flags=2,
                              win=1000, opts={"mss": 1460})) for i in range(8000)]
    t.pour(frames)
    for _ in range(3):
        f = t.open(b"e")
        f.put("P. 2:12(10) ack 1")
        f.until(". 1:11(10)")
    return "connected by cookies"


def blind(t, flags, spread, ack=None, data=b""):
    """Sends forged segments into the honest client's long connection."""
    port = t.honest.counts()[3]
    def forged(base):
        return t.spoofed.frame(Seg(sport=port, dport=PORT, seq=base, flags=flags, win=5000,
                                   ack=random.getrandbits(32) if ack is None else ack, data=data))
    frames = [forged(random.getrandbits(32)) for _ in range(20000)] if spread == "all" else []
    end = time.monotonic() + SECONDS
    n = 0
    while time.monotonic() < end:
        if spread == "window":  # an attacker that sees one direction: RCV.NXT from the client's segments
            nxt = t.sniff(port)
            if nxt is None:
                continue
            frames = [forged(nxt + 1500 + i) for i in range(50)]
        for frame in frames[:500]:
            t.net.send(frame)
            n += 1
        frames = frames[500:] + frames[:500]
    return "the connection lives"


def reset_anywhere(t):
    return blind(t, FLAGS["R"], "all")


def reset_in_window(t):
    return blind(t, FLAGS["R"], "window")


def syn_in_window(t):
    return blind(t, FLAGS["S"], "window")


def data_with_wrong_ack(t):
    return blind(t, FLAGS["."] | FLAGS["P"], "window", data=b"forged")


def answers(t, f, frames):
    """Counts the answers to a flood of segments that are out of place."""
    f.skip(0.1)
    began = time.monotonic()
    t.pour(frames)
    n = f.skip(0.05)
    lasted = time.monotonic() - began
    if n > 4 * lasted + 4:  # two a second: tcp_invalid_ratelimit
        raise Wrong(f"{n} answers in {lasted:.1f} s")
    return "few answers"


def ack_storm(t):
    f = t.open(b"h")
    return answers(t, f, [t.net.frame(f.seg(f". {s}:{s}(0) ack 1")) for s in range(-9000, -8000)])


def ack_storm_unsent(t):
    f = t.open(b"h")
    return answers(t, f, [t.net.frame(f.seg(f". 2:2(0) ack {50000 + s}")) for s in range(1000)])


def tiny_segments(t):
    """Segments of one byte each, in order, to a server that does not read, and to one that echoes."""
    for what in (b"h", b"e"):
        f = t.open(what)
        t.pour([t.net.frame(f.seg(f"P. {2 + i}:{3 + i}(1) ack 1")) for i in range(20000)], SECONDS / 2)
    return "done"


def holes(t):
    """Sends every other byte of the window, on many connections."""
    for _ in range(20):
        f = t.open(b"h")
        t.pour([t.net.frame(f.seg(f". {4 + 2 * i}:{5 + 2 * i}(1) ack 1")) for i in range(2000)], 0.1)
    return "done"


def full_holes(t):
    """Sends full segments beyond holes, far apart, on many connections."""
    for _ in range(20):
        f = t.open(b"h")
        t.pour([t.net.frame(f.seg(f". {2000 + 1500 * i}:{3000 + 1500 * i}(1000) ack 1"))
                for i in range(40)], 0.05)
    return "done"


def tiny_mss(t):
    """The smallest MSS and every other segment acknowledged by SACK (CVE-2019-11477, -11478)."""
    for _ in range(4):
        f = t.open(b"s", "mss 8,sackOK,wscale 7", win=20000)
        end = time.monotonic() + SECONDS / 4
        una, blocks = 1, []
        while time.monotonic() < end:
            s = f.take(0.05)
            if s is None or not s.data:
                continue
            seq = f.relative(s)[0]
            if len(s.data) < 48 - 20:
                raise Wrong(f"segments of {len(s.data)}")
            if random.random() < 0.5 and seq > una:
                blocks = ([(seq, seq + len(s.data))] + blocks)[:3]
                text = " ".join(f"{a}:{b}" for a, b in blocks)
                f.put(f". 2:2(0) ack {una} win 20000 <sack {text}>")
    return "done"


def zero_windows(t):
    """Peers with a window of zero ask for data that they never take."""
    for _ in range(60):
        f = t.open(b"s", win=0)
    time.sleep(SECONDS)
    return "done"


def optimistic(t):
    """ACKs ahead of what was sent, and forged SACKs: neither sends faster nor breaks."""
    f = t.open(b"s")
    end, top = time.monotonic() + SECONDS, 1
    while time.monotonic() < end:
        s = f.take(0.05)
        if s is None:
            f.put(f". 2:2(0) ack {top}")
            continue
        top = max(top, f.relative(s)[0] + len(s.data))
        f.put(f". 2:2(0) ack {top + 100000} win 257")
        f.put(f". 2:2(0) ack {top} win 257 <sack {top + 5000}:{top + 90000}>")
        if s.data and s.data != bytes((x ^ x >> 8 ^ x >> 16) & 255 for x in range(
                f.relative(s)[0] - 1, f.relative(s)[0] - 1 + len(s.data))):
            raise Wrong("wrong bytes")
    return "done"


ATTACKS = [syn_flood, reset_anywhere, reset_in_window, syn_in_window, data_with_wrong_ack, ack_storm,
           ack_storm_unsent, tiny_segments, holes, full_holes, tiny_mss, zero_windows, optimistic]


def sniffer(net, spoofed_src):
    """About the sequence number of the honest client's next segment."""
    def sniff(port):
        end = time.monotonic() + 0.2
        while time.monotonic() < end:
            if not select.select([net.sock], [], [], 0.05)[0]:
                continue
            frame, where = net.sock.recvfrom(70000)
            ip = 54 if net.six else 34
            if where[2] == 4 and len(frame) >= ip + 20 and frame[ip:ip + 4] == struct.pack(
                    "!HH", port, PORT):
                return struct.unpack("!I", frame[ip + 4:ip + 8])[0]
        return None
    return sniff


def main():
    device, ghost, mac, subject, subject_mac, own, pid, *wanted = sys.argv[1:]
    watch = Watch(int(pid))
    may_grow = int(os.environ.get("MAY_GROW_MIB", 48)) * 1024
    honest = Honest(own, subject)
    net = Net(device, mac, ghost, subject_mac, subject)
    t = Attack(net, Net(device, mac, own, subject_mac, subject), honest)
    t.sniff = sniffer(net, own)
    bad = 0
    end = time.monotonic() + 20
    while honest.counts()[1] < 20 and time.monotonic() < end:
        time.sleep(0.05)
    before = watch.rss()
    for attack in ATTACKS:
        if wanted and attack.__name__ not in wanted:
            continue
        was = honest.counts()
        try:
            what = attack(t)
        except Wrong as e:
            what = f"WRONG: {e}"
            bad += 1
        # The machine has other work, too: the honest client is served, if more slowly.
        end = time.monotonic() + 10
        while honest.counts()[0] < was[0] + 3 and time.monotonic() < end:
            time.sleep(0.05)
        now = honest.counts()
        served = now[0] >= was[0] + 3 and now[1] > was[1]
        grown = watch.rss() - before
        say(f"{attack.__name__}: {what}; the honest are served: {served}, whole: {now[2] == was[2]};",
            f"memory bounded: {grown < may_grow}")
        print(f"  {attack.__name__}: {what}; {now[0] - was[0]} served, {grown} KiB more", file=sys.stderr)
        bad += not served or now[2] != was[2] or grown >= may_grow
        t.end()
    time.sleep(0.3)
    os.kill(honest.pid, signal.SIGKILL)
    os.waitpid(honest.pid, 0)
    time.sleep(1.0)
    busy = watch.cpu()
    time.sleep(1.0)
    busy = watch.cpu() - busy
    say("quiet afterwards:", busy < 0.5)
    bad += busy >= 0.5
    sys.exit(bad > 0)


main()
