# SPDX-License-Identifier: BSD-2-Clause
"""hostile_storm.py DEVICE GHOST GHOST_MAC SUBJECT SUBJECT_MAC FAR: a station sends advertisements without a pause: a
neighbour whose address of the link changes each time, a router with another prefix each time. Prints whether the subject
sleeps in between, and whether its connection then goes where the last advertisement says. FAR drives the subject."""
from segscript import *

N = 4000
ROUTER = "fe80::5e:10ff:fe00:77"


def icmp(net, src, dst, to, body):
    src, dst = (socket.inet_pton(socket.AF_INET6, a) if isinstance(a, str) else a for a in (src, dst))
    s = checksum(src + dst + struct.pack("!II", len(body), 58) + body)
    body = body[:2] + struct.pack("!H", s) + body[4:]
    return to + net.eth[6:] + struct.pack("!IHBB", 6 << 28, len(body), 58, 255) + src + dst + body


def neighbour(net, mac):
    return icmp(net, net.src, net.dst, net.eth[:6], struct.pack("!BBHI", 136, 0, 0, 0x60000000) + net.src + b"\2\1" + mac)


def router(net, first, i):
    prefix = struct.pack("!BBBBIIIHHI", 3, 4, 64, 0xc0, 7200, 7200, 0, 0x2001, 0xdb8, first + i) + bytes(8)
    return icmp(net, ROUTER, "ff02::1", b"\x33\x33\0\0\0\1", struct.pack("!BBHBBHII", 134, 0, 0, 64, 0, 1800, 0, 0) + prefix)


def storm(t, name, frames):
    before, begin = t.far.call("switches"), time.monotonic()
    for f in frames:
        t.net.send(f)
    ms = (time.monotonic() - begin) * 1000
    n = t.far.call("switches") - before
    say(name, "seldom wakes it:", n <= 30 + ms, "" if n <= 30 + ms else f"({n} times in {ms:.0f} ms)")


def main():
    device, ghost, ghost_mac, subject, subject_mac, ctl = sys.argv[1:]
    t = T(Net(device, ghost_mac, ghost, subject_mac, subject), Far(ctl))
    t.begin()
    f, s = t.open()
    mac, first = t.net.eth[6:12], random.getrandbits(31)  # (the kernel keeps routes of an earlier run)
    storm(t, "neighbour", [neighbour(t.net, mac[:3] + i.to_bytes(3, "big")) for i in range(N)])
    storm(t, "router", [router(t.net, first, i) for i in range(N)])
    t.net.send(neighbour(t.net, mac))
    time.sleep(0.1)
    s.sendall(payload(1, 10))
    for _ in range(4):  # once more, where the program's host is slow to follow
        to = f.get(". 1:11(10) ack 1").to
        if to == mac:
            break
    say("to the station:", to == mac, s.state())
    t.end()


main()
