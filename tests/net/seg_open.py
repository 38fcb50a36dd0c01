# SPDX-License-Identifier: BSD-2-Clause
"""Scripts of tcp_segments.py: opening."""
from segscript import *


def options(t):
    """RFC 7323, 2018: options that the peer offers are used; others do not appear in the answer."""
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
    """The same SYN-ACK is sent again when the SYN comes again, and by the timer."""
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
    """Our SYN is sent again by the timer, the first times after equal intervals (tcp_syn_linear_timeouts)."""
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
    """The ACK of the handshake carries data and a FIN."""
    ls = t.listen()
    f = t.flow()
    f.put("S 0:0(0) win 32792 <mss 1000>")
    f.get("S. 0:0(0) ack 1")
    f.put("PF. 1:101(100) ack 1 win 257")
    f.until(". 1:1(0) ack 102")
    s, _ = ls.accept()
    expect("data", t.keep(s).take(1000), payload(1, 100))


def to_nobody(t):
    """RFC 9293 3.10.7.1, 3.10.7.2: a segment that belongs to no connection of the listener is answered by a reset."""
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
    """A reset within the window of a half-open connection, but not at its edge, has no effect (RFC 5961 3.2)."""
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
    """RFC 7413: a cookie is given on request; with it, data come with the SYN; with a wrong one the handshake is an
    ordinary one."""
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


SCRIPTS = [options, synack_again, syn_again, refused, syn_sent_bad_ack, simultaneous, data_with_handshake,
           to_nobody, request_reset, fast_open]
