# SPDX-License-Identifier: BSD-2-Clause
"""tcp_txstamp.py OWN PEER FAR: transmit time stamps of a stream, and the error queue that delivers them."""
from tcplib import *

own, peer, far = start()
TX_HW, TX_SW, SOFT, RAW, ID, SCHED, ACK, CMSG, TSONLY = 1, 2, 16, 64, 128, 256, 512, 1024, 2048
ID_TCP = 1 << 16
ING, ING_NEW, OPT_ID_CMSG, MSG_ERRQUEUE = 37, 65, 81, socket.MSG_ERRQUEUE
TYPES = {0: "SND", 1: "SCHED", 2: "ACK"}
V6 = is6(own)
IP, RECVERR = (socket.IPPROTO_IPV6, 25) if V6 else (socket.IPPROTO_IP, 11)
TO = b"0123456789"


def errq(s, room=500):
    """recvmsg(MSG_ERRQUEUE) by the C library, which never waits; Python's would."""
    s.setblocking(False)
    try:
        return s.recvmsg(4000, room, MSG_ERRQUEUE)
    finally:
        s.setblocking(True)


def one(s, since):
    try:
        data, cmsgs, flags, name = errq(s)
    except OSError as e:
        return name_of(e.errno)
    out = [len(data), len(data) > 8 and data[-4:], int(flags)]
    for level, kind, d in cmsgs:
        if level == SOL and kind in (ING, ING_NEW):
            w = struct.unpack("6q", d)
            at = w[0] + w[1] / 1e9
            out.append((kind, [bool(a or b) for a, b in zip(w[::2], w[1::2])], since - 0.001 <= at <= time.time() + 0.001))
        elif (level, kind) == (IP, RECVERR):
            err, origin, typ, code, pad, info, ident = struct.unpack("I4B2I", d[:16])
            out.append((name_of(err), origin, typ, code, TYPES.get(info, info), ident, len(d), d[16:].hex() == "00" * (len(d) - 16)))
        else:
            out.append((level, kind, len(d)))
    return out


def drain(s, since, n, again="LINKS" not in os.environ):
    """Reads the first n stamps, on a NIC of tests/vm the first different ones: a segment sent again there, as a tail
    loss probe, has its SND stamp again."""
    got = []
    while len(got) < n and "ERR" in settles(s, "ERR", 5):
        e = one(s, since)
        if again or e not in got:
            got.append(e)
    return got


def sent(s, data=TO, *args):
    t = time.time()
    s.send(data, *args)
    return t


def ids(got):
    return sorted((e[-1][4], e[-1][5]) for e in got)


def asks(s, flags):
    return attempt(s.sendmsg, [TO], [(SOL, ING, struct.pack("I", flags))])


def each(s, f):
    s.setsockopt(TCP, socket.TCP_NODELAY, 1)
    for v in (TX_SW | SOFT, TX_SW | SCHED | ACK | SOFT | ID | TSONLY, ID_TCP, 1 << 30, TX_SW | ID | ID_TCP, 0):
        say("   set", v, attempt(s.setsockopt, SOL, ING, v), s.getsockopt(SOL, ING, 8).hex(), s.getsockopt(SOL, ING_NEW, 8).hex())
    for what, flags, n in (("software", TX_SW | SOFT, 1), ("all", TX_SW | SCHED | ACK | SOFT | ID, 3),
                           ("no reports", TX_SW | ACK, 2), ("stamps alone", TX_SW | SCHED | ACK | SOFT | ID | TSONLY, 3),
                           ("acknowledged", ACK | SOFT | ID | TSONLY, 1), ("sched", SCHED | SOFT | ID | TSONLY, 1),
                           ("no hardware, but software", TX_HW | TX_SW | SOFT | RAW | ID, 1),
                           ("no hardware", TX_HW | RAW | ID, 0)):
        for name in (ING, ING_NEW):
            s.setsockopt(SOL, name, 0)
            s.setsockopt(SOL, name, flags)
            got = drain(s, sent(s), n)
            # (the looped packet of IPv6 names its source, which is the same every time)
            say("  ", what, name, sorted(got, key=lambda e: (e[-1][4], e[-1][5])), one(s, 0), take_all(f))
    s.setsockopt(SOL, ING, 0)
    say("   nothing", sent(s) > 0, one(s, 0), take_all(f))


def take_all(f):
    return len(f.take(10)) if not isinstance(f, socket.socket) else None


def numbers(s, f):
    s.setsockopt(TCP, socket.TCP_NODELAY, 1)
    s.setsockopt(SOL, ING, ACK | SOFT | ID | TSONLY)
    got = []
    for n in (1, 100, 5000, 30000):
        t = sent(s, b"x" * n)
        got += drain(s, t, 1)
        say("   of", n, ids(got[-1:]))
    s.setsockopt(SOL, ING, ACK | SOFT | TSONLY)
    say("   off", ids(drain(s, sent(s), 1)))
    s.setsockopt(SOL, ING, ACK | SOFT | ID | ID_TCP | TSONLY)
    say("   anew", ids(drain(s, sent(s), 1)), s.getsockopt(SOL, ING))
    s.setsockopt(SOL, ING, SOFT | ID | TSONLY)
    say("   none", sent(s) > 0, one(s, 0))
    say("   asked of one", asks(s, TX_SW | ACK), ids(drain(s, 0, 2)), asks(s, 0), asks(s, 1 << 30), asks(s, SOFT))
    say("   its own number", attempt(s.sendmsg, [TO], [(SOL, OPT_ID_CMSG, struct.pack("I", 7))]))
    say("   other control", attempt(s.sendmsg, [TO], [(SOL, 99, b"1234")]))
    for data in (b"", b"1"):
        s.setsockopt(SOL, ING, 0)
        s.setsockopt(SOL, ING, ACK | TX_SW | SOFT | ID | ID_TCP | TSONLY)
        s.send(data)
        say("   bytes", len(data), ids(drain(s, 0, 2 * len(data))), one(s, 0))


def moved(s, f):
    """The connection is handed back to the kernel with stamps unread and more to come."""
    s.setsockopt(TCP, socket.TCP_NODELAY, 1)
    s.setsockopt(SOL, ING, ACK | TX_SW | SOFT | ID | TSONLY)
    sent(s, b"x" * 10)
    say("  ", settles(s, "ERR"), acked(s))
    raw("sl_hand_back", s.fileno()) if hasattr(libc, "sl_hand_back") else None
    sent(s, b"y" * 10)
    say("  ", acked(s), time.sleep(0.05), ids(drain(s, 0, 4)), one(s, 0))


def lost(s, f):
    """A byte is stamped again each time that its segment is sent again."""
    s.setsockopt(TCP, socket.TCP_NODELAY, 1)
    for more in (TSONLY, 0):
        s.setsockopt(SOL, ING, 0)
        s.setsockopt(SOL, ING, ACK | TX_SW | SCHED | SOFT | ID | ID_TCP | more)
        f.deaf(True)
        t = sent(s)
        got = drain(s, t, 6, True)
        f.deaf(False)
        while got[-1][-1][4] != "ACK":
            got += drain(s, t, 1)
        say("  ", [(e[-1][4], e[-1][5]) for e in got[:6]], ids(got[-1:]), all(e[-2][-1] for e in got))
        say("  ", sorted({(e[-1][4], e[0], e[1]) for e in got}, key=str), one(s, 0))


port = 7000
for name, s, f in both_ways(own, peer, far, port):
    say(name)
    each(s, f)
    s.close()
for name, s, f in both_ways(own, peer, far, 7010):
    say(name, "numbers")
    numbers(s, f)
    s.close()
for name, s, f in both_ways(own, peer, far, 7020):
    say(name, "moved")
    moved(s, f)
    s.close()
for name, s, f in both_ways(own, peer, far, 7025):
    say(name, "lost")
    lost(s, f)
    s.close()
s = tcp(own, 7030)
say("not connected", attempt(s.setsockopt, SOL, ING, TX_SW | ID), attempt(s.setsockopt, SOL, ING, TX_SW | SOFT | TSONLY))
s.listen(1)
say("listens", attempt(s.setsockopt, SOL, ING, TX_SW | ID), s.getsockopt(SOL, ING))
s, f = accepted(own, peer, far, 7031, lambda ls: ls.setsockopt(SOL, ING, TX_SW | SOFT | TSONLY))
say("child", s.getsockopt(SOL, ING), drain(s, sent(s), 1), one(s, 0))
say("done")
