# SPDX-License-Identifier: BSD-2-Clause
"""tcp_stamp.py OWN PEER FAR: time stamps that come with a stream's bytes: when they come, and their values; together
with TCP_INQ; on accepted connections."""
from tcplib import *

own, peer, far = start()
STAMP, NS, ING, STAMP_NEW, NS_NEW, ING_NEW, INQ = 29, 35, 37, 63, 64, 65, 36
RX_SOFTWARE, SOFTWARE = 8, 16
PEEK, DONTWAIT = socket.MSG_PEEK, socket.MSG_DONTWAIT


def words(cmsgs, before, between):
    """Kinds and lengths of control messages, and whether each stamp is between sending and reading."""
    out = []
    for level, kind, data in cmsgs:
        good = None
        if level == SOL and len(data) >= 16:
            sec, part = struct.unpack("qq", data[:16])
            at = sec + part / (1e6 if kind in (STAMP, STAMP_NEW) else 1e9)
            good = before - 0.001 <= at <= between + 0.001 and not any(data[16:])
        out.append((level, kind, len(data), good))
    return out


def stamped(s, f, n=10, flags=0, room=1000):
    have = ioctl_int(s, FIONREAD)
    before = time.time()
    f.send(b"x" * n)
    arrived(s, have + n)
    time.sleep(0.03)  # a stamp is of the arrival, not of the call that reads it
    between = time.time()
    data, cmsgs, got, _ = s.recvmsg(1000, room, flags)
    return len(data), words(cmsgs, before, between - 0.01), bool(got & socket.MSG_CTRUNC)


def ask(s, name, value):
    s.setsockopt(SOL, name, value)
    return s.getsockopt(SOL, name)


def each(s, f):
    say("   none", stamped(s, f))
    for name in (STAMP, NS, STAMP_NEW, NS_NEW):
        say("   on", name, ask(s, name, 1), attempt(s.recvmsg, 10, 100, DONTWAIT))
        stamped(s, f)  # the first one may be late: it was on its way when stamping was switched on
        say("     ", stamped(s, f), stamped(s, f))
        say("      peeked", stamped(s, f, 10, PEEK), stamped(s, f, 5))
        say("      no room", stamped(s, f, 10, 0, 0), stamped(s, f, 10, 0, 20))
        say("   off", name, ask(s, name, 0), stamped(s, f))
    for name in (ING, ING_NEW):
        say("   on", name, ask(s, name, RX_SOFTWARE | SOFTWARE))
        stamped(s, f)
        say("     ", stamped(s, f))
        s.setsockopt(TCP, INQ, 1)
        say("      and TCP_INQ", ask(s, NS, 1), stamped(s, f))
        s.setsockopt(TCP, INQ, 0)
        say("   off", name, ask(s, name, 0), ask(s, NS, 0), stamped(s, f))
    # (A veth has no hardware stamps; a NIC whose queue the library reads has: sim/receive_udp.sh.)
    for flags in () if os.environ.get("SLUICE_RX_BACKEND") == "verbs" else (4 | 64, 4 | 64 | RX_SOFTWARE | SOFTWARE, 64):
        say("   hardware", ask(s, ING, flags))
        stamped(s, f)
        say("     ", stamped(s, f), ask(s, ING, 0))
    say("   not asked to report", ask(s, ING, RX_SOFTWARE), stamped(s, f), ask(s, ING, 0))


for name, s, f in both_ways(own, peer, far, 7000):
    say(name)
    each(s, f)
    s.setsockopt(SOL, NS, 1)
    f.close()
    say("   end", settles(s, "RDHUP"), s.recvmsg(10, 100)[:2])
    s.close()
s, f = accepted(own, peer, far, 7010, lambda ls: ls.setsockopt(SOL, NS, 1))
say("child", s.getsockopt(SOL, NS), s.getsockopt(SOL, STAMP), s.getsockopt(SOL, ING), stamped(s, f), stamped(s, f))
say("cpu", 0 <= s.getsockopt(SOL, 49) < os.cpu_count())
say("done")
