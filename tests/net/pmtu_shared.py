# SPDX-License-Identifier: BSD-2-Clause
"""pmtu_shared.py DEVICE GHOST GHOST_MAC SUBJECT SUBJECT_MAC FAR: the connections after one that was told its path's MTU
begin with that, those of a server and those that the subject begins. Sizes, one a line, as by the kernel."""
import sys

from seg_icmp import *

faulthandler.cancel_dump_traceback_later()
faulthandler.dump_traceback_later(60, exit=True)


def size_of(t, f, s, at):
    """The largest segment that the subject sends there."""
    s.send(payload(at, 3000))
    sizes = []
    while sum(sizes) < 3000:
        seg = f.take(3)
        if seg is None:
            break
        sizes.append(len(seg.data))
        f.put(f". 1:1(0) ack {at + sum(sizes)}")
    return max(sizes or [0])


def main():
    device, ghost, ghost_mac, subject, subject_mac, ctl = sys.argv[1:]
    t = T(Net(device, ghost_mac, ghost, subject_mac, subject), Far(ctl))
    mss = 1440 if t.net.six else 1460
    opts = f"mss {mss},sackOK,wscale 7"
    t.begin()
    f, s = t.open(opts)
    f.skip(0.05)
    say("at first:", size_of(t, f, s, 1))
    s.send(payload(3001, mss))
    f.take()
    t.net.send(about(f, TOO_BIG, 3001, 1400))
    time.sleep(0.1)
    f.skip(0.5)
    f.put(f". 1:1(0) ack {3001 + mss}")
    say("told:", size_of(t, f, s, 3001 + mss))
    g, other = t.flow(), None
    ls = t.listen()
    g.put(f"S 0:0(0) win 32792 <{opts}>")
    say("its SYN-ACK:", g.get("S. 0:0(0) ack 1").opts["mss"])
    g.put(". 1:1(0) ack 1 win 257")
    other, _ = ls.accept()
    t.keep(other)
    g.skip(0.05)
    say("the next one:", size_of(t, g, other, 1))
    # (those have a lane of their own, which the first one tells)
    for mtu in (1300, 1296):
        s = t.keep(t.far.begin_connect(t.net.addr, t.port))
        h = t.flow(0)
        t.net.flows.pop((h.sport, h.dport))
        h.sport, h.dport = t.port, s.getsockname()[1]
        t.net.flows[(h.sport, h.dport)] = h
        asked = h.get("S 0:0(0)").opts["mss"]
        h.put(f"S. 0:0(0) ack 1 win 32792 <{opts}>")
        s.settles("OUT")
        h.skip(0.05)
        size = size_of(t, h, s, 1)
        if mtu == 1296:
            say("its own SYN, and size:", asked, size)
        s.send(payload(3001, mss))
        h.take()
        t.net.send(about(h, TOO_BIG, 3001, mtu))
        time.sleep(0.1)
        h.skip(0.5)
        h.put(f". 1:1(0) ack {3001 + mss}")
    t.end()


main()
