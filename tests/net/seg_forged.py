# SPDX-License-Identifier: BSD-2-Clause
"""Scripts of tcp_segments.py: segments that another host may have forged."""
from segscript import *


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
    """RFC 5961 4.2: a SYN is answered by a challenge ACK, whatever its number."""
    f, s = t.open()
    f.put("S 11:11(0) win 5000 <mss 1000>")
    f.get(". 1:1(0) ack 1")
    expect("state", s.state(), "ESTABLISHED")
    f.put("P. 1:11(10) ack 1 win 257")
    gives(s, 10)


def challenges_are_few(t):
    """tcp_invalid_ratelimit: not every such segment is answered by an ACK."""
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
    """RFC 5961 5.2 for an ACK of numbers before the connection: the window is at most what was sent."""
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
    """RFC 9293 3.10.7.4: segments without ACK, and damaged segments, are dropped."""
    f, s = t.open()
    f.put("P 1:11(10)")
    f.put("P. 1:11(10) ack 1", break_csum=True)
    f.put("F 1:1(0)")
    f.put("P 900001:900011(10)")  # and nothing answers these
    f.put("F -99:-99(0)")
    f.quiet(0.1)
    has_nothing(t, s)


def signed(t):
    """Segments that are signed by a key that nobody has set (RFC 2385), or whose options have a length that cannot be
    where a signature has room, do nothing, not even reset."""
    whole = tuple(map(int, os.uname().release.split(".")[:2])) >= (6, 7)
    f, s = t.open()
    for raw in [b"\x13\x12" + bytes(16)] + [b"\xfe\x30" + bytes(18)] * whole:
        for spec in "P. 1:11(10) ack 1", "R 1:1(0)", "R. 1:1(0) ack 1":
            seg = f.seg(spec)
            seg.opts = {"raw": raw}
            t.net.send(t.net.frame(seg))
    f.quiet(0.1)
    has_nothing(t, s)
    expect("state", s.state(), "ESTABLISHED")
    f.put("P. 1:11(10) ack 1")
    gives(s, 10)


def fast_open_spoofed(t):
    """RFC 7413 5.1: a station that has a cookie of another one's address sends SYNs with data in its name. TCP_FASTOPEN
    says how many the program serves before the handshake, whether it has accepted them or not; those that the other one
    has reset count, too, for a minute (Linux)."""
    for reset in False, True:
        t.port += 1
        ls = t.listen([(TCP, 23, 3)], 50)
        f = t.flow()
        f.put("S 0:0(0) win 32792 <mss 1000,tfo>")
        f.get("S. 0:0(0) ack 1 <mss *,tfo *>")
        f.put("R 1:1(0)")
        served = 0
        for _ in range(8):
            g = t.flow()
            g.tfo = f.tfo
            g.put("S 0:10(10) win 32792 <mss 1000,tfo =>")
            got = g.take()
            if (got.ack - g.iss) & MASK == 11:
                served += 1
                t.keep(ls.accept()[0])
            if reset:
                g.put("R 11:11(0)")
        expect("served", served, 3)
        for g in t.flows[-8:] if not reset else ():  # handshakes that end make room
            g.put(". 11:11(0) ack 1 win 257")
        g = t.flow()
        g.tfo = f.tfo
        g.put("S 0:10(10) win 32792 <mss 1000,tfo =>")
        g.get("S. 0:0(0) ack 1" if reset else "S. 0:0(0) ack 11")


SCRIPTS = [reset_in_window, reset_at_sack, reset_after_fin, syn_in_window, challenges_are_few, ack_of_nothing,
           ghost_ack, no_ack_flag, signed, fast_open_spoofed]
