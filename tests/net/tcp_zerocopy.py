# SPDX-License-Identifier: BSD-2-Clause
"""tcp_zerocopy.py OWN PEER FAR: sends with MSG_ZEROCOPY are numbered from zero and completed on the
error queue (Documentation/networking/msg_zerocopy.rst). Each of Sluice's completions says that the bytes were copied;
the kernel's say so only where the device needs a copy: not compared."""
import os

from tcplib import *

own, peer, far = start()
six = is6(own)
SO_ZEROCOPY, MSG_ZEROCOPY, IP_MINTTL, IPV6_MINHOPCOUNT = 60, 0x4000000, 21, 73
ZC = MSG_ZEROCOPY
ERRQUEUE, DONTWAIT = socket.MSG_ERRQUEUE, socket.MSG_DONTWAIT
COPIED = 1
ours = "sluice" in os.environ.get("LD_PRELOAD", "")


def epolled(s):
    ep = select.epoll()
    ep.register(s, 0)
    got = ep.poll(0)
    ep.close()
    return bits(got[0][1]) if got else "0"


def ee(data):
    """A struct sock_extended_err."""
    err, origin, kind, code, *rest = struct.unpack("=IBBBBII", data)
    return (err, origin, kind, COPIED if code == 0 and not ours else code, *rest)


def completion(s, room=1000, flags=0):
    """One message of the error queue, in words."""
    try:
        data, cmsgs, flags, name = s.recvmsg(100, room, ERRQUEUE | flags)
    except OSError as e:
        return name_of(e.errno)
    out = [data, flags & ERRQUEUE != 0, flags & socket.MSG_CTRUNC != 0, flags & ~(ERRQUEUE | socket.MSG_CTRUNC)]
    for level, kind, d in cmsgs:
        if len(d) >= 16:
            out += [level, kind, len(d), ee(d[:16]), set(d[16:])]
    return out


def completions(s, n, first=0):
    """Waits for n more completions; returns their range, in however many messages it came."""
    lo, hi, codes, words = None, None, set(), set()
    end = time.monotonic() + WAIT
    while (hi is None or hi - lo + 1 < n) and time.monotonic() < end:
        if "ERR" not in polled(s):
            time.sleep(0.002)
            continue
        got = completion(s)
        if isinstance(got, str):
            return got
        err, origin, kind, code, pad, info, data = got[7]
        lo = info if lo is None else lo
        if hi is not None and info != hi + 1:
            return f"a gap: {hi}, then {info}"
        hi = data
        codes.add(code)
        words.add((got[4], got[5], got[6], err, origin, kind, pad, tuple(got[8])))
    return lo, hi, sorted(codes), sorted(words)


for name, s, f in both_ways(own, peer, far, 7000):
    say(name)
    say("off:", s.send(b"not numbered", ZC), f.take(12), acked(s), completion(s), polled(s))
    for bad in (2, -1):
        say("set to", bad, attempt(s.setsockopt, SOL, SO_ZEROCOPY, bad), s.getsockopt(SOL, SO_ZEROCOPY))
    s.setsockopt(SOL, SO_ZEROCOPY, 1)
    say("on:", s.getsockopt(SOL, SO_ZEROCOPY), completion(s), polled(s))
    say("plain send:", s.send(b"plain"), f.take(5), acked(s), polled(s), completion(s))
    say("one:", s.send(b"first", ZC), f.take(5), settles(s, "ERR"), epolled(s), so_error(s))
    say("   data beside it:", f.send(b"hello"), arrived(s, 5), s.recv(5), attempt(s.recv, 1, DONTWAIT))
    say("   ", completion(s), polled(s), epolled(s), completion(s))
    for i in range(5):
        s.send(b"x" * 3000, ZC)
    say("five:", f.take(15000) == b"x" * 15000, completions(s, 5), polled(s))
    say("nothing is not counted:", attempt(s.send, b"", ZC), s.send(b"then", ZC), f.take(4), completions(s, 1))
    say("gathered, one call:", s.sendmsg([b"a" * 10, b"b" * 20], [], ZC), len(f.take(30)), completions(s, 1))
    say("with MSG_MORE:", s.send(b"a", ZC | socket.MSG_MORE), s.send(b"b", ZC), f.take(2), completions(s, 2))
    s.send(b"drop", ZC)
    f.take(4)
    settles(s, "ERR")
    say("read without room for it:", completion(s, 0), completion(s), polled(s))
    s.send(b"drop", ZC)
    f.take(4)
    settles(s, "ERR")
    say("with too little:", completion(s, 20), completion(s))
    s.send(b"recv", ZC)
    f.take(4)
    settles(s, "ERR")
    say("by recv:", attempt(s.recv, 10, ERRQUEUE), attempt(s.recv, 10, ERRQUEUE))
    # A call that takes only a part of the bytes has a number, too.
    s.setblocking(False)
    part = s.send(b"p" * 50000000, ZC)
    say("part:", 0 < part < 50000000)
    s.setblocking(True)
    say("   arrives", len(f.take(part)) == part, completions(s, 1))
    later = far.later(f, "drain", 5, 3000000)
    sent, kept = 0, []  # the bytes are the kernel's until it says that it is done with them
    while sent < 3000000:
        kept.append(pattern(5, sent, min(200000, 3000000 - sent)))
        sent += s.send(kept[-1], ZC)
    calls = len(kept)
    say("stream:", later(), (lambda lo, hi, codes, _: (hi - lo + 1 == calls, codes))(*completions(s, calls)))
    # An option that only the kernel has makes Sluice hand the socket back; the notification numbers continue.
    s.send(b"before", ZC)
    f.take(6)
    settles(s, "ERR")
    s.setsockopt(socket.IPPROTO_IPV6 if six else socket.IPPROTO_IP, IPV6_MINHOPCOUNT if six else IP_MINTTL, 1)
    say("moved:", s.send(b"after", ZC), f.take(5))
    say("   ", s.send(b"last", ZC), f.take(4))
    got = completions(s, 3)
    say("   three in a row", got[1] - got[0], got[3], polled(s))
    s.shutdown(socket.SHUT_WR)
    say("shut:", attempt(s.send, b"x", ZC), completion(s))
    s.close()
    f.close()
# An accepted connection has its listener's option, and numbers of its own.
s, f = accepted(own, peer, far, 7010, lambda ls: ls.setsockopt(SOL, SO_ZEROCOPY, 1))
say("child:", s.getsockopt(SOL, SO_ZEROCOPY), s.send(b"x", ZC), f.take(1), completions(s, 1))
# Closed with completions unread, and with data unsent.
s.send(b"x" * 100, ZC)
s.close()
say("closed:", f.to_end())
f.close()
# Datagrams.
s = socket.socket(socket.AF_INET6 if six else socket.AF_INET, socket.SOCK_DGRAM)
s.bind((own, 0))
say("datagram, off:", s.sendto(b"not numbered", ZC, (peer, 9)), completion(s), polled(s))
s.setsockopt(SOL, SO_ZEROCOPY, 1)
say("plain:", s.sendto(b"plain", (peer, 9)), completion(s), polled(s))
say("one:", s.sendto(b"first", ZC, (peer, 9)), settles(s, "ERR"), epolled(s), completion(s), polled(s))
for i in range(5):
    s.sendto(b"x" * 1000, ZC, (peer, 9))
say("five:", completions(s, 5, 1), polled(s))
say("an empty one is counted:", s.sendto(b"", ZC, (peer, 9)), completions(s, 1, 6))
say("gathered:", s.sendmsg([b"a" * 10, b"b" * 20], [], ZC, (peer, 9)), completions(s, 1, 7))
s.connect((peer, 9))
say("connected:", s.send(b"x" * 5000, ZC), completions(s, 1, 8))
s.close()
# A new socket, and calls that are refused.
s = tcp(six=six)
s.setsockopt(SOL, SO_ZEROCOPY, 1)
say("not connected:", attempt(s.send, b"x", ZC | socket.MSG_NOSIGNAL), completion(s), polled(s))
s.close()
say("done")
