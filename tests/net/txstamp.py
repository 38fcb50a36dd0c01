# SPDX-License-Identifier: BSD-2-Clause
"""txstamp.py OWN PEER PORT: transmit time stamps of datagrams, and the error queue that delivers them. A
reflector is at PEER PORT."""
import time

from netlib import *

own, peer, port = sys.argv[1], sys.argv[2], int(sys.argv[3])
TX_HW, TX_SW, RX_HW, RX_SW, SOFT, RAW = 1, 2, 4, 8, 16, 64
ID, SCHED, ACK, CMSG, TSONLY, STATS, PKTINFO, SWHW, PHC = (1 << n for n in range(7, 16))
RX_FILTER = 1 << 17
ING, ING_NEW, SELECT_ERR_QUEUE, OPT_ID_CMSG = 37, 65, 45, 81
MSG_ERRQUEUE, DONTWAIT = socket.MSG_ERRQUEUE, socket.MSG_DONTWAIT
SOL = socket.SOL_SOCKET
TYPES = {0: "SND", 1: "SCHED", 2: "ACK"}
V6 = is6(own)
IP = socket.IPPROTO_IPV6 if V6 else socket.IPPROTO_IP
to = (peer, port)


def errq(s, size=2000, room=500):
    """recvmsg(MSG_ERRQUEUE) by the C library, which never waits; Python's would."""
    s.settimeout(0)
    try:
        return s.recvmsg(size, room, MSG_ERRQUEUE)
    finally:
        s.settimeout(TIMEOUT)


def settle(s):
    """Waits until all that was sent before has come back."""
    time.sleep(0.02)
    while attempt(errq, s) != "EAGAIN":
        pass


def wait_err(s, want=select.POLLERR):
    p = select.poll()
    p.register(s, 0)
    got = p.poll(TIMEOUT * 1000)
    return got[0][1] & want if got else 0


def plausible(sec, part, unit, since):
    return since - 0.001 <= sec + part / unit <= time.time() + 0.001


def one(s, since, size=2000, room=500):
    """One message of the error queue: payload, stamps, type, number, offender; no times."""
    try:
        data, cmsgs, flags, name = errq(s, size, room)
    except OSError as e:
        return name_of(e.errno)
    out = [len(data), len(data) > 8 and data[-8:].hex(), flags & ~DONTWAIT, name]
    for level, kind, d in cmsgs:
        if flags & socket.MSG_CTRUNC:
            out.append((level, kind, len(d)))
        elif (level, kind) in ((SOL, ING), (SOL, ING_NEW)):
            w = struct.unpack("6q", d[:48])
            out.append(("stamping", kind, [bool(a or b) for a, b in zip(w[::2], w[1::2])],
                        plausible(w[0], w[1], 1e9, since)))
        elif level == SOL and kind in (SO_TIMESTAMP, SO_TIMESTAMPNS, 63, 64):
            out.append(("stamp", kind, plausible(*struct.unpack("2q", d), 1e9 if kind in (35, 64) else 1e6, since)))
        elif level == IP and kind in (IP_RECVERR, IPV6_RECVERR):
            err, origin, typ, code, pad, info, ident = struct.unpack("I4B2I", d[:16])
            who = struct.unpack("H", d[16:18])[0], len(d) - 16
            at = socket.inet_ntop(s.family, d[24:40] if V6 else d[20:24])
            out.append(("err", name_of(err), origin, typ, code, pad, TYPES.get(info, info), ident, who, at))
        else:
            m = meta_of([(level, kind, d)])
            m.pop("dev", None)
            out.append(m)
    return out


def drain(s, since, n, **how):
    got = []
    while len(got) < n and wait_err(s):
        got.append(one(s, since, **how))
    return got


def sock(flags, name=ING):
    s = udp(own)
    s.connect(to)
    s.setsockopt(SOL, name, flags)
    s.send(question(size=30))  # the neighbour is known from now on
    s.recv(2000)
    settle(s)
    return s


def sent(s, n, *args):
    t = time.time()
    s.send(b"stamped " + bytes(range(n - 8)), *args)
    return t


def shows(what, flags, n, name=ING, **how):
    s = sock(flags, name)
    t = sent(s, 20)
    say(what, s.getsockopt(SOL, name, 8).hex(), drain(s, t, n, **how), one(s, t))
    return s


say("sets")
s = udp(own)
for v in (TX_SW, TX_SW | ID, 1 << 30, ID | 1 << 16, 1 << 16, STATS, STATS | TSONLY, TX_HW | TX_SW | SCHED | ACK, 0):
    say("  ", v, attempt(s.setsockopt, SOL, ING, v), s.getsockopt(SOL, ING, 8).hex(), s.getsockopt(SOL, ING_NEW, 8).hex())
for v in (struct.pack("ii", TX_SW, 0), struct.pack("ii", TX_SW, 7), b"x", struct.pack("iii", TX_SW, 0, 0)):
    say("  ", v.hex(), attempt(s.setsockopt, SOL, ING_NEW, v), attempt(s.getsockopt, SOL, ING_NEW, 8))
s.close()

say("one datagram")
for name in (ING, ING_NEW):
    shows("  software", TX_SW | SOFT, 1, name)
shows("  and queue", TX_SW | SCHED | SOFT | ID, 2)
shows("  without reports", TX_SW | SCHED, 2)
shows("  stamps alone", TX_SW | SCHED | SOFT | ID | TSONLY, 2)
shows("  control", TX_SW | SOFT | ID | CMSG, 1)
shows("  control alone", TX_SW | SOFT | ID | CMSG | TSONLY, 1)
shows("  little room", TX_SW | SOFT | ID, 1, size=5)
shows("  no control", TX_SW | SOFT | ID, 1, room=0)
shows("  little control", TX_SW | SOFT | ID, 1, room=40)
shows("  no hardware, but software", TX_HW | TX_SW | RAW | SOFT | ID, 1)
shows("  hardware reported alone", TX_SW | RAW | ID, 1)
shows("  ACK means nothing", TX_SW | ACK | SOFT | ID, 1)
shows("  STATS mean nothing", TX_SW | SOFT | ID | STATS | TSONLY, 1)

say("numbers")
s = sock(TX_SW | SOFT | TSONLY | ID)
for i in range(3):
    t = sent(s, 20)
say("  ", [e[-1][7] for e in drain(s, t, 3)])
s.setsockopt(SOL, ING, TX_HW | RAW | TSONLY | ID)  # (no stamps, but messages are numbered)
sent(s, 20)
s.setsockopt(SOL, ING, TX_SW | SOFT | TSONLY | ID)
say("   after one without", [e[-1][7] for e in drain(s, sent(s, 20), 1)])
s.setsockopt(SOL, ING, SOFT | ID)
sent(s, 20)
s.setsockopt(SOL, ING, TX_SW | SOFT | ID)
say("   and one that asked for nothing", [e[-1][7] for e in drain(s, sent(s, 20), 1)])
s.setsockopt(SOL, ING, TX_SW | SOFT)
say("   off", [e[-1][7] for e in drain(s, sent(s, 20), 1)])
s.setsockopt(SOL, ING, TX_SW | SOFT | ID)
say("   on again", [e[-1][7] for e in drain(s, sent(s, 20), 1)])
say("   by the kernel's path, too", s.setsockopt(SOL, ING, TX_SW | SOFT | ID | TSONLY))
for n in (20, 250, 30):
    if n == 250:
        s.send(b"x" * 4000)
    else:
        sent(s, n)
time.sleep(0.05)
say("  ", sorted({e[-1][7] for e in drain(s, 0, 3)}))
settle(s)

say("each message by itself")
s = sock(SOFT | ID | TSONLY)


def asks(flags, n=1, kind=ING):
    t = time.time()
    got = attempt(s.sendmsg, [b"asks for some"], [(SOL, kind, struct.pack("I", flags) if flags is not None else b"")])
    return got, drain(s, t, n)


for flags, n in ((TX_SW, 1), (SCHED, 1), (TX_SW | SCHED, 2), (0, 0), (TX_HW, 0), (TX_SW, 1), (SOFT, 0), (1 << 30, 0), (None, 0)):
    say("  ", flags, asks(flags, n))
say("   new", asks(TX_SW, 1, ING_NEW), one(s, 0))
s.setsockopt(SOL, ING, TX_SW | SOFT | ID | TSONLY)
say("   not this one", asks(0, 0), asks(SCHED), [e[-1][7] for e in drain(s, sent(s, 20), 1)], one(s, 0))
say("   its own number", [attempt(s.sendmsg, [b"asks"], [(SOL, OPT_ID_CMSG, struct.pack("I", 4711))])], drain(s, 0, 1))
s.close()
s = sock(0)
say("   none set", asks(TX_SW, 1))
s.close()

say("polled")
s = sock(TX_SW | SOFT | TSONLY)
ep = select.epoll()
ep.register(s, select.EPOLLIN | select.EPOLLET)
ep.poll(0.05)
sent(s, 20)
say("   epoll", [(e & (select.EPOLLERR | select.EPOLLPRI)) for f, e in ep.poll(TIMEOUT)])
p = select.poll()
p.register(s, select.POLLPRI)
say("   poll", [e for f, e in p.poll(1000)])
s.setsockopt(SOL, SELECT_ERR_QUEUE, 1)
say("   and urgent", [e for f, e in p.poll(1000)], [len(x) for x in select.select([], [], [s], 1)])
say("   read", one(s, 0)[-1], one(s, 0), p.poll(0), s.getsockopt(SOL, socket.SO_ERROR))
time.sleep(0.05)
say("   data come beside", len(s.recv(2000)), nothing_comes(s, 0.05), p.poll(0))
s.close()

say("beside the other stamps")
s = sock(TX_SW | SOFT | TSONLY)
for name in (SO_TIMESTAMP, SO_TIMESTAMPNS, 63, 64):
    s.setsockopt(SOL, name, 1)
    say("  ", name, drain(s, sent(s, 20), 1))
    s.setsockopt(SOL, name, 0)
s.close()

say("a queue that nobody reads")
s = sock(TX_SW | SOFT | TSONLY | ID)
s.setsockopt(SOL, socket.SO_RCVBUF, 4608)
for i in range(300):
    sent(s, 20)
    time.sleep(0.0005)
got = drain(s, 0, 1)[0][-1][7]
n = 1
while one(s, 0) != "EAGAIN":
    n += 1
say("  ", got, 1 < n < 60)
s.close()

say("the meta data of what was sent")
s = sock(TX_SW | SOFT | CMSG | ID)
ask_meta(s)
say("  ", drain(s, sent(s, 20), 1))
s.close()

say("handed back with stamps unread")
s = sock(TX_SW | SOFT | TSONLY | ID)
ep = select.epoll()
ep.register(s, select.EPOLLIN)
sent(s, 20)
wait_err(s)
s.setsockopt(SOL, socket.SO_TXTIME if hasattr(socket, "SO_TXTIME") else 61, struct.pack("iI", 1, 0))  # (only the kernel has it)
t = sent(s, 20)
time.sleep(0.05)
say("  ", {e & 8 for f, e in ep.poll(TIMEOUT)}, wait_err(s), [e[-1][7] for e in drain(s, t, 2)], one(s, t), {e for f, e in ep.poll(0)})
s.close()

say("a name given")
s = udp(own)
s.setsockopt(SOL, ING, TX_SW | SOFT | ID | TSONLY)
s.sendto(question(size=30), to)
say("  ", len(s.recv(2000)))
settle(s)
t = time.time()
for i in range(2):
    s.sendto(b"x" * 30, to)
say("  ", drain(s, t, 2), one(s, 0))
s.close()
say("done")
