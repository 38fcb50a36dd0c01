# SPDX-License-Identifier: BSD-2-Clause
"""Scripts of tcp_segments.py: closing."""
from segscript import *


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
    """A FIN beyond a hole takes effect once the hole is filled."""
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


SCRIPTS = [passive_close, active_close, fin_again, simultaneous_close, data_after_close, unread_close,
           out_of_order_fin, syn_in_time_wait]
