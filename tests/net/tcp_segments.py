# SPDX-License-Identifier: BSD-2-Clause
"""tcp_segments.py DEVICE GHOST GHOST_MAC SUBJECT SUBJECT_MAC FAR [SCRIPT...]: what a real process sends
for each segment, written as in packetdrill. Runs on host a; the subject is a socket on host b, driven at
FAR. The scripts are proved by the kernel, which must pass each of them."""
import sys

from segpeer import *
from tcplib import *

faulthandler.cancel_dump_traceback_later()
faulthandler.dump_traceback_later(150, exit=True)
OPTS = "mss 1000,sackOK,wscale 7"


class T:
    """What a script has: the wire, the subject's host, a port of its own."""

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
        """The handshake from our side."""
        f.put(f"S 0:0(0) win {win} <{opts}>")
        f.scale = f.get("S. 0:0(0) ack 1").opts.get("wscale", 0)
        ts = f" <TS {opts.split('TS ')[1].split()[0]} 0>" if "TS" in opts else ""
        f.put(f". 1:1(0) ack 1 win 257{ts}")

    def open(self, opts=OPTS, sockopts=()):
        """A connection that we opened: flow, socket."""
        ls = self.listen(sockopts)
        f = self.flow()
        self.shake(f, opts)
        s, _ = ls.accept()
        self.keep(s)
        ls.close()
        return f, s

    def dial(self, before=None):
        """The subject connects, in a thread: flow, socket, what connect() will have given."""
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
    """So many bytes come, those of the stream."""
    expect("readable", s.arrived(n, 5.0) >= n, True)
    expect("data", s.take(n), payload(first, n))


def has_nothing(t, s):
    """Nothing more than what was read has been delivered."""
    time.sleep(0.05)
    expect("readable", readable(s), False)


# Opening -----------------------------------------------------------------------------------------
def options(t):
    """RFC 7323, 2018: what the peer offers is taken, what it does not offer is not spoken of."""
    t.listen()
    for offer, answer in (("mss 1000,sackOK,TS 100 0,wscale 7", "mss *,sackOK,TS * 100,wscale *"),
                          ("mss 1000,sackOK", "mss *,sackOK"), ("mss 1000", "mss *"),
                          ("mss 1000,wscale 3", "mss *,wscale *"), ("", "mss *")):
        f = t.flow()
        f.put(f"S 0:0(0) win 32792 <{offer}>")
        synack = f.get(f"S. 0:0(0) ack 1 <{answer}>")
        expect("MSS", synack.opts["mss"], 1440 if t.net.six else 1460)
        f.put("R 1:1(0)")


def synack_again(t):
    """The SYN again: SYN-ACK again, the same one; and by time."""
    t.listen()
    f = t.flow()
    f.put("S 0:0(0) win 32792 <mss 1000>")
    first = f.get("S. 0:0(0) ack 1")
    second = f.get("S. 0:0(0) ack 1")
    expect("a second later", second.at - first.at > 0.5, True)
    expect("ISN", second.seq, first.seq)
    f.put("S 0:0(0) win 32792 <mss 1000>")
    f.get("S. 0:0(0) ack 1", 1.0)
    f.put("R 1:1(0)")


def syn_again(t):
    """Our SYN again by time, at first with the same time (tcp_syn_linear_timeouts)."""
    f, s, connected = t.dial()
    at = [f.take().at for _ in range(3)]
    expect("not at once", at[1] - at[0] > 0.5, True)
    expect("the same time", (at[2] - at[1]) < 1.6 * (at[1] - at[0]), True)
    f.put("S. 0:0(0) ack 1 win 5000 <mss 1000>")
    f.until(". 1:1(0) ack 1")
    expect("connect", connected(), None)


def refused(t):
    """RFC 9293 3.10.7.3: a reset counts when it acknowledges the SYN."""
    f, s, connected = t.dial()
    f.take()
    f.put("R. 0:0(0) ack 77")
    f.put("R 0:0(0)")
    f.skip(0.05)
    f.put("R. 0:0(0) ack 1")
    expect("connect", attempt(connected), "ECONNREFUSED")


def syn_sent_bad_ack(t):
    f, s, connected = t.dial()
    f.take()
    f.put("S. 0:0(0) ack 2 win 5000 <mss 1000>")
    f.get("R 2:2(0)")
    f.put("S. 0:0(0) ack 1 win 5000 <mss 1000>")
    f.until(". 1:1(0) ack 1")
    expect("connect", connected(), None)


def simultaneous(t):
    """RFC 9293 figure 7."""
    f, s, connected = t.dial()
    f.take()
    f.put("S 0:0(0) win 5000 <mss 1000,sackOK,wscale 7>")
    f.get("S. 0:0(0) ack 1")
    f.put("S. 0:0(0) ack 1 win 5000 <mss 1000,sackOK,wscale 7>")
    expect("connect", connected(), None)
    f.put("P. 1:101(100) ack 1 win 100")
    f.until(". 1:1(0) ack 101")
    gives(s, 100)


def data_with_handshake(t):
    """The ACK of the handshake brings data and the end."""
    ls = t.listen()
    f = t.flow()
    f.put("S 0:0(0) win 32792 <mss 1000>")
    f.get("S. 0:0(0) ack 1")
    f.put("PF. 1:101(100) ack 1 win 257")
    f.until(". 1:1(0) ack 102")
    s, _ = ls.accept()
    expect("data", t.keep(s).take(1000), payload(1, 100))


def to_nobody(t):
    """RFC 9293 3.10.7.1, 3.10.7.2: resets for what belongs to no connection of a listener."""
    t.listen()
    f = t.flow()
    f.irs = 0
    f.put(". 1:1(0) ack 77 win 257")
    f.get("R 77:77(0)")
    f.put("SF 0:0(0) win 5000")
    f.put("R 1:1(0)")
    f.put("F 1:1(0)")
    f.put("S 5:5(0) win 5000 <mss 1000>", break_csum=True)
    f.quiet(0.1)


def request_reset(t):
    """A request: resets in its window but not at its edge do nothing (RFC 5961 3.2)."""
    ls = t.listen()
    f = t.flow()
    f.put("S 0:0(0) win 32792 <mss 1000>")
    f.get("S. 0:0(0) ack 1")
    f.put("R 2:2(0)")
    f.skip(0.05)
    f.put(". 1:1(0) ack 1 win 257")
    s, _ = ls.accept()
    t.keep(s)
    f.put("P. 1:11(10) ack 1")
    f.until(". 1:1(0) ack 11")


def fast_open(t):
    """RFC 7413: the cookie is given; with it, data come with the SYN; a wrong one is no harm."""
    ls = t.listen([(TCP, 23, 5)])
    f = t.flow()
    f.put("S 0:0(0) win 32792 <mss 1000,tfo>")
    f.get("S. 0:0(0) ack 1 <mss *,tfo *>")
    f.put("R 1:1(0)")
    g = t.flow()
    g.tfo = f.tfo
    g.put("S 0:10(10) win 32792 <mss 1000,tfo =>")
    g.get("S. 0:0(0) ack 11")
    s, _ = ls.accept()
    expect("poll", t.keep(s).polled(), "IN|OUT|RDNORM|WRNORM")
    expect("data", s.take(10), payload(1, 10))
    expect("poll", s.polled(), "OUT|WRNORM")
    s.send(b"early")
    g.get(". 1:6(5) ack 11")
    g.put(". 11:11(0) ack 6 win 257")
    k = t.flow()
    k.tfo = bytes(len(f.tfo))
    k.put("S 0:10(10) win 32792 <mss 1000,tfo =>")
    k.get("S. 0:0(0) ack 1")


# Data in -----------------------------------------------------------------------------------------
def holes(t):
    """RFC 5681 4.2, 2018: a hole is told of at once, the newest block first."""
    f, s = t.open()
    f.put("P. 1:1001(1000) ack 1")
    f.until(". 1:1(0) ack 1001")
    f.put(". 2001:3001(1000) ack 1")
    f.get(". 1:1(0) ack 1001 <sack 2001:3001>")
    f.put(". 4001:5001(1000) ack 1")
    f.get(". 1:1(0) ack 1001 <sack 4001:5001 2001:3001>")
    f.put(". 3001:4001(1000) ack 1")
    f.get(". 1:1(0) ack 1001 <sack 2001:5001>")
    f.put(". 1001:2001(1000) ack 1")
    f.get(". 1:1(0) ack 5001 <>")
    gives(s, 5000)


def doubles(t):
    """RFC 2883: what comes twice is reported."""
    f, s = t.open()
    f.put("P. 1:1001(1000) ack 1")
    f.until(". 1:1(0) ack 1001")
    f.put("P. 1:1001(1000) ack 1")
    f.get(". 1:1(0) ack 1001 <sack 1:1001>")
    f.put("P. 501:1501(1000) ack 1")
    f.get(". 1:1(0) ack 1501 <sack 501:1001>")
    gives(s, 1500)


def no_sack(t):
    """Without SACK: duplicate ACKs, without options."""
    f, s = t.open("mss 1000")
    f.put("P. 1:1001(1000) ack 1 win 32000")
    f.until(". 1:1(0) ack 1001")
    for seq in (2001, 4001, 3001):
        f.put(f". {seq}:{seq + 1000}(1000) ack 1")
        f.get(". 1:1(0) ack 1001 <>")
    f.put(". 1001:2001(1000) ack 1")
    f.get(". 1:1(0) ack 5001 <>")
    gives(s, 5000)


def delayed_ack(t):
    """RFC 1122 4.2.3.2: an ACK comes without more data, and every second full segment has one."""
    f, s = t.open()
    for i in range(40):  # past the quick ones of the beginning
        f.put(f"P. {1 + i * 1000}:{1001 + i * 1000}(1000) ack 1")
        f.until(f". 1:1(0) ack {1001 + i * 1000}", 2.0)
    f.put("P. 40001:40002(1) ack 1")
    f.until(". 1:1(0) ack 40002", 2.0)
    gives(s, 40001)


def windows(t):
    """The window closes as the buffer fills, never moves back, and opens when there was reading."""
    f, s = t.open("mss 1000,sackOK,wscale 7", sockopts=[(SOL, socket.SO_RCVBUF, 20000)])
    seq, edge = 1, 0
    while seq < 100000:
        f.put(f". {seq}:{seq + 1000}(1000) ack 1")
        got = f.take(1.0)
        while f.queue:
            got = f.take()
        if got is None:
            continue
        ack = f.relative(got)[1]
        right = ack + (got.win << f.scale)
        expect("the right edge went back", right < edge, False)
        edge, seq = right, ack
        if got.win == 0 or right - ack < 1000:
            break
    expect("it closed", seq < 100000, True)
    have = seq - 1
    f.put(f". {seq}:{seq + 1}(1) ack 1")  # a probe
    f.skip(0.1)
    gives(s, have)
    end = time.monotonic() + 5
    while time.monotonic() < end:
        got = f.take(0.5)
        if got is None:
            f.put(f". {seq}:{seq + 1}(1) ack 1")
        elif got.win << f.scale >= 1000:
            return
    raise Wrong("the window stayed closed")


def beyond_window(t):
    """RFC 9293 3.10.7.4: what is outside of the window is not taken, and answered."""
    f, s = t.open()
    f.put("P. 1:11(10) ack 1")
    f.until(". 1:1(0) ack 11")
    f.put("P. 5000001:5000011(10) ack 1")
    f.get(". 1:1(0) ack 11")
    gives(s, 10)
    has_nothing(t, s)


def paws(t):
    """RFC 7323 5.3: an old time stamp: dropped and answered."""
    f, s = t.open("mss 1000,sackOK,TS 1000 0,wscale 7")
    f.put("P. 1:11(10) ack 1 <TS 1010 0>")
    f.until(". 1:1(0) ack 11 <TS * 1010>")
    f.put("P. 11:21(10) ack 1 <TS 900 0>")
    f.get(". 1:1(0) ack 11")
    s.take(10)
    has_nothing(t, s)
    f.put("P. 11:21(10) ack 1 <TS 1011 0>")
    f.until(". 1:1(0) ack 21 <TS * 1011>")
    gives(s, 10, 11)


def urgent(t):
    """RFC 6093: the byte before the pointer, out of the stream."""
    f, s = t.open()
    f.put("PU. 1:11(10) ack 1 urg 5")
    f.until(". 1:1(0) ack 11")
    expect("before the mark", s.recv(100), payload(1, 4))
    expect("urgent byte", s.recv(1, socket.MSG_OOB), payload(5, 1))
    expect("after it", s.recv(100), payload(6, 5))


# Forged ------------------------------------------------------------------------------------------
def reset_in_window(t):
    """RFC 5961 3.2: a challenge ACK; only the exact number resets."""
    f, s = t.open()
    f.put("R 101:101(0)")
    f.get(". 1:1(0) ack 1")
    f.put("R 9000001:9000001(0)")
    f.put("R 0:0(0)")
    f.quiet(0.1)
    expect("state", s.state(), "ESTABLISHED")
    f.put("R 1:1(0)")
    expect("state", s.becomes("CLOSE", 3.0), "CLOSE")
    expect("recv", attempt(s.recv, 1), "ECONNRESET")


def reset_at_sack(t):
    """RFC 5961 3.2 with SACK: a peer that knows of our block may reset at its end, as on Linux."""
    f, s = t.open()
    f.put(". 1001:2001(1000) ack 1")
    f.get(". 1:1(0) ack 1 <sack 1001:2001>")
    f.put("R 2001:2001(0)")
    expect("state", s.becomes("CLOSE", 3.0), "CLOSE")
    expect("recv", attempt(s.recv, 1), "ECONNRESET")


def reset_after_fin(t):
    """A peer that forgot its FIN resets before it, as BSD's do: RCV.NXT - 1."""
    f, s = t.open()
    f.put("F. 1:1(0) ack 1")
    f.until(". 1:1(0) ack 2")
    expect("end", s.recv(1), b"")
    f.put("R 1:1(0)")
    expect("state", s.becomes("CLOSE", 3.0), "CLOSE")


def syn_in_window(t):
    """RFC 5961 4.2: a challenge ACK whatever its number."""
    f, s = t.open()
    f.put("S 11:11(0) win 5000 <mss 1000>")
    f.get(". 1:1(0) ack 1")
    expect("state", s.state(), "ESTABLISHED")
    f.put("P. 1:11(10) ack 1 win 257")
    gives(s, 10)


def challenges_are_few(t):
    """tcp_invalid_ratelimit: not an ACK for each."""
    f, s = t.open()
    for i in range(30):
        f.put(f"R {101 + i}:{101 + i}(0)")
        f.put("S 11:11(0) win 5000 <mss 1000>")
    n = f.skip(0.2)
    expect(f"at most two challenges ({n})", 1 <= n <= 2, True)


def ack_of_nothing(t):
    """RFC 5961 5.2: data whose ACK is of what was never sent, or too old, are not taken."""
    f, s = t.open()
    f.put("P. 1:11(10) ack 5001")
    f.skip(0.1)
    has_nothing(t, s)
    f.put("P. 1:11(10) ack -100000000")
    f.skip(0.1)
    has_nothing(t, s)
    f.put("P. 1:11(10) ack 1")
    gives(s, 10)


def ghost_ack(t):
    """The same for an ACK of what was before the connection: a window is not more than what was sent."""
    f, s = t.open()
    f.put("P. 1:11(10) ack -1000")
    f.skip(0.1)
    has_nothing(t, s)
    s.send(payload(1, 100))
    f.until(". 1:101(100)")
    f.put(". 1:1(0) ack 101")
    f.put("P. 1:11(10) ack 50")  # old, but of this connection
    gives(s, 10)


def no_ack_flag(t):
    """RFC 9293 3.10.7.4: without ACK nothing is taken; neither is what is damaged."""
    f, s = t.open()
    f.put("P 1:11(10)")
    f.put("P. 1:11(10) ack 1", break_csum=True)
    f.put("F 1:1(0)")
    f.quiet(0.1)
    has_nothing(t, s)


# Data out ----------------------------------------------------------------------------------------
def nagle(t):
    """RFC 9293 3.7.4: one small segment in flight."""
    f, s = t.open()
    s.send(payload(1, 10))
    f.get(". 1:11(10) ack 1")
    s.send(payload(11, 10))
    s.send(payload(21, 10))
    f.put(". 1:1(0) ack 11")
    f.until(". 11:31(20) ack 1")


def mss_and_cwnd(t):
    """No segment above the peer's MSS, ten of them at the start (RFC 6928)."""
    f, s = t.open("mss 536,wscale 7")
    later = t.far.later(s, "sendall", payload(1, 20000))
    n = 0
    while n < 5360:
        g = f.take()
        expect("in order", f.relative(g)[0], 1 + n)
        expect("within the MSS", len(g.data) <= 536, True)
        n += len(g.data)
    expect("ten", n, 5360)
    f.put(". 1:1(0) ack 5361 win 257")


def send_ten(t, opts=OPTS):
    f, s = t.open(opts)
    t.far.later(s, "sendall", payload(1, 10000))()
    n = 0
    while n < 10000:
        n += len(f.take().data)
    return f, s


def three_duplicates(t):
    """RFC 5681 3.2: the third duplicate ACK brings the segment, well before the time-out."""
    f, s = send_ten(t, "mss 1000,wscale 7")
    for _ in range(3):
        f.put(". 1:1(0) ack 1")
    f.until(". 1:1001(1000)")
    f.put(". 1:1(0) ack 10001")
    f.skip(0.05)
    f.quiet(0.5)


def sacked(t):
    """RFC 6675, 8985: what is sacked is not sent again, the hole is."""
    f, s = send_ten(t)
    f.put(". 1:1(0) ack 1001 <sack 3001:6001>")
    f.put(". 1:1(0) ack 1001 <sack 3001:8001>")
    f.until(". 1001:2001(1000)")
    f.until(". 2001:3001(1000)")
    f.put(". 1:1(0) ack 8001")
    f.skip(0.02)
    f.put(". 1:1(0) ack 10001")
    f.skip(0.05)
    f.quiet(0.5)


def timeouts(t):
    """RFC 6298 5: the head again and again, with twice the time each, until it is acknowledged."""
    f, s = t.open()
    s.send(payload(1, 100))
    at = [f.get(". 1:101(100)").at for _ in range(5)]
    expect("doubled", at[4] - at[3] > 1.4 * (at[3] - at[2]), True)
    expect("grows", at[3] - at[2] > 1.2 * (at[2] - at[1]), True)
    f.put(". 1:1(0) ack 101")
    f.skip(0.02)
    f.quiet(1.0)


def zero_window(t):
    """RFC 9293 3.8.6.1: probes, ever rarer; when it opens, the data."""
    f, s = t.open()
    f.put(". 1:1(0) ack 1 win 0")
    time.sleep(0.05)
    s.send(payload(1, 100))
    at = []
    for _ in range(3):
        g = f.take()
        expect("a probe", f.relative(g)[0] <= 1 and len(g.data) <= 1, True)
        f.put(". 1:1(0) ack 1 win 0")
        at.append(g.at)
    expect("rarer", at[2] - at[1] > 1.3 * (at[1] - at[0]), True)
    f.put(". 1:1(0) ack 1 win 257")
    f.until(". 1:101(100)")


def small_window(t):
    """Not more than the window is sent."""
    f, s = t.open("mss 1000")
    f.put(". 1:1(0) ack 1 win 2500")
    time.sleep(0.05)
    t.far.later(s, "sendall", payload(1, 6000))()
    right = 0
    while True:
        g = f.take(0.1)
        if g is None:
            break
        right = max(right, f.relative(g)[0] + len(g.data) - 1)
    expect("within the window", right <= 2500, True)
    expect("used", right >= 2000, True)
    f.put(f". 1:1(0) ack {right + 1} win 5000")
    f.until(f". {right + 1}:{right + 1001}(1000)")


def keepalive(t):
    """RFC 1122 4.2.3.6: probes; none answered: the end."""
    f, s = t.open()
    for name, v in ((4, 1), (5, 1), (6, 2)):  # TCP_KEEPIDLE, INTVL, CNT
        s.setsockopt(TCP, name, v)
    s.setsockopt(SOL, socket.SO_KEEPALIVE, 1)
    f.get(". 0:0(0) ack 1")
    f.put(". 1:1(0) ack 1")
    f.get(". 0:0(0) ack 1")
    f.get(". 0:0(0) ack 1")
    f.get("R. 1:1(0) ack 1")
    expect("error", s.so_error(), "ETIMEDOUT")


# Closing -----------------------------------------------------------------------------------------
def passive_close(t):
    f, s = t.open()
    f.put("F. 1:1(0) ack 1")
    f.until(". 1:1(0) ack 2")
    expect("state", s.becomes("CLOSE_WAIT"), "CLOSE_WAIT")
    expect("end", s.recv(10), b"")
    s.send(b"bye")
    f.get(". 1:4(3) ack 2")
    f.put(". 2:2(0) ack 4")
    s.close()
    f.until("F. 4:4(0) ack 2")
    f.put(". 2:2(0) ack 5")
    f.quiet(0.1)
    f.put("P. 2:12(10) ack 5")
    f.get("R 5:5(0)")


def active_close(t):
    """FIN_WAIT1, FIN_WAIT2, TIME_WAIT; the FIN again is acknowledged again."""
    f, s = t.open()
    s.shutdown(socket.SHUT_WR)
    f.get("F. 1:1(0) ack 1")
    expect("state", s.becomes("FIN_WAIT1"), "FIN_WAIT1")
    f.put(". 1:1(0) ack 2")
    expect("state", s.becomes("FIN_WAIT2"), "FIN_WAIT2")
    f.put("P. 1:11(10) ack 2")
    gives(s, 10)
    f.skip(0.1)
    f.put("F. 11:11(0) ack 2")
    f.until(". 2:2(0) ack 12")
    f.put("F. 11:11(0) ack 2")
    f.get(". 2:2(0) ack 12")
    f.put("R 13:13(0)")
    f.put("F. 11:11(0) ack 2")
    f.get(". 2:2(0) ack 12")
    f.put("R 12:12(0)")  # "assassination", unless net.ipv4.tcp_rfc1337 is set
    f.quiet(0.05)
    f.put("F. 11:11(0) ack 2")
    f.get("R 2:2(0)")


def fin_again(t):
    """A FIN that is not acknowledged comes again."""
    f, s = t.open()
    s.shutdown(socket.SHUT_WR)
    f.get("F. 1:1(0) ack 1")
    f.get("F. 1:1(0) ack 1")
    f.put(". 1:1(0) ack 2")
    expect("state", s.becomes("FIN_WAIT2"), "FIN_WAIT2")


def simultaneous_close(t):
    """RFC 9293 figure 13: CLOSING."""
    f, s = t.open()
    s.shutdown(socket.SHUT_WR)
    f.get("F. 1:1(0) ack 1")
    f.put("F. 1:1(0) ack 1")
    f.until(". 2:2(0) ack 2")
    expect("state", s.becomes("CLOSING"), "CLOSING")
    f.put(". 2:2(0) ack 2")
    expect("state", s.becomes("CLOSE"), "CLOSE")


def reset_comes(f):
    for _ in range(10):
        g = f.take()
        if g is None:
            raise Wrong("no reset")
        if g.flags & FLAGS["R"]:
            return


def data_after_close(t):
    """RFC 2525 2.17: data that nobody can read are reset."""
    f, s = t.open()
    s.close()
    f.get("F. 1:1(0) ack 1")
    f.put("P. 1:11(10) ack 2")
    reset_comes(f)


def unread_close(t):
    f, s = t.open()
    f.put("P. 1:11(10) ack 1")
    f.until(". 1:1(0) ack 11")
    s.close()
    f.get("R. 1:1(0) ack 11")


def out_of_order_fin(t):
    """A FIN beyond a hole waits for its turn."""
    f, s = t.open()
    f.put("PF. 11:21(10) ack 1")
    f.get(". 1:1(0) ack 1 <sack 11:22>")
    expect("state", s.state(), "ESTABLISHED")
    f.put("P. 1:11(10) ack 1")
    f.until(". 1:1(0) ack 22")
    expect("data", s.take(100), payload(1, 20))


def syn_in_time_wait(t):
    """RFC 6191, 1122 4.2.2.13: a SYN with a later number begins anew."""
    ls = t.listen()
    f = t.flow()
    t.shake(f)
    s, _ = ls.accept()
    s.close()
    f.get("F. 1:1(0) ack 1")
    f.put("F. 1:1(0) ack 2")
    f.until(". 2:2(0) ack 2")
    old = f.irs
    f.put("S 100000:100000(0) win 32792 <mss 1000>")
    f.iss += 100000
    synack = f.get("S. 0:0(0) ack 1")
    expect("a later number", 0 < (synack.seq - old) & MASK < 1 << 31, True)
    f.put(". 1:1(0) ack 1 win 257")
    s, _ = ls.accept()
    t.keep(s)
    f.put("P. 1:11(10) ack 1")
    gives(s, 10)


SCRIPTS = [options, synack_again, syn_again, refused, syn_sent_bad_ack, simultaneous, data_with_handshake,
           to_nobody, request_reset, fast_open, holes, doubles, no_sack, delayed_ack, windows,
           beyond_window, paws, urgent, reset_in_window, reset_at_sack, reset_after_fin, syn_in_window,
           challenges_are_few, ack_of_nothing, ghost_ack, no_ack_flag, nagle, mss_and_cwnd,
           three_duplicates, sacked, timeouts, zero_window, small_window, keepalive, passive_close,
           active_close, fin_again, simultaneous_close, data_after_close, unread_close, out_of_order_fin,
           syn_in_time_wait]


def main():
    device, ghost, ghost_mac, subject, subject_mac, ctl, *wanted = sys.argv[1:]
    t = T(Net(device, ghost_mac, ghost, subject_mac, subject), Far(ctl))
    failed = []
    for script in SCRIPTS:
        if wanted and script.__name__ not in wanted:
            continue
        t.begin()
        try:
            script(t)
            say(f"{script.__name__}: ok")
        except (Wrong, OSError, RuntimeError) as e:
            failed.append(script.__name__)
            print(f"{script.__name__}: {e}", file=sys.stderr, flush=True)
        t.end()
    sys.exit(len(failed) > 0)


main()
