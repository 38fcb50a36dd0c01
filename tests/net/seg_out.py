# SPDX-License-Identifier: BSD-2-Clause
"""Scripts of tcp_segments.py: data that go out."""
from segscript import *


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
    """RFC 6675, 8985: the hole is sent again, segments acknowledged by SACK are not."""
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
    # (Twice and four times the first time-out, which a busy machine may make twice as long.)
    expect("grows", at[4] - at[2] > 3 * (at[2] - at[1]), True)
    f.put(". 1:1(0) ack 101")
    f.skip(0.02)
    f.quiet(1.0)


def zero_window(t):
    """RFC 9293 3.8.6.1: a closed window is probed after ever longer times; data go out when it opens."""
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
    """No more than the window is sent."""
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
    """RFC 1122 4.2.3.6: keepalive probes; when none is answered the connection ends."""
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


SCRIPTS = [nagle, mss_and_cwnd, three_duplicates, sacked, timeouts, zero_window, small_window, keepalive]
