# SPDX-License-Identifier: BSD-2-Clause
"""Scripts of tcp_segments.py: data that come in."""
import os

from segscript import *


def holes(t):
    """RFC 5681 4.2, 2018: a hole is reported at once, the newest block first."""
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
    """RFC 2883: a segment that comes twice is reported."""
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
    """RFC 1122 4.2.3.2: a delayed ACK comes without further data, and every second full segment is acknowledged at
    once."""
    f, s = t.open()
    for i in range(40):  # past the quick ones of the beginning
        f.put(f"P. {1 + i * 1000}:{1001 + i * 1000}(1000) ack 1")
        f.until(f". 1:1(0) ack {1001 + i * 1000}", 2.0)
    f.put("P. 40001:40002(1) ack 1")
    f.until(". 1:1(0) ack 40002", 2.0)
    gives(s, 40001)


def windows(t):
    """The window closes as the buffer fills, never shrinks from the right, and opens when the program reads."""
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


def hole_grows(t):
    """Data beyond a hole make the buffer grow, though the program has nothing to read."""
    if tuple(map(int, os.uname().release.split(".")[:2])) < (6, 16):
        return  # (Linux does so since then)
    f, s = t.open()
    f.put(". 1:1001(1000) ack 1")
    f.until(". 1:1(0) ack 1001")
    size = s.getsockopt(SOL, socket.SO_RCVBUF)
    for seq in range(2001, 60001, 1000):
        f.put(f". {seq}:{seq + 1000}(1000) ack 1")
        f.get(". 1:1(0) ack 1001")
    expect("it grew", s.getsockopt(SOL, socket.SO_RCVBUF) > size, True)
    f.put(". 1001:2001(1000) ack 1")
    f.until(f". 1:1(0) ack {seq + 1000}")
    gives(s, seq + 999)


def beyond_window(t):
    """RFC 9293 3.10.7.4: a segment outside the window is not taken, and answered by an ACK."""
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


SCRIPTS = [holes, doubles, no_sack, delayed_ack, windows, hole_grows, beyond_window, paws, urgent]
