# SPDX-License-Identifier: BSD-2-Clause
"""Frames that a station forges below and around IP, and virtio headers that lie: see hostile_frames.sh.

    hostile_frames.py receive B4 B6           prints what is delivered, until a datagram "end"
    hostile_frames.py answers DEV             prints SYN-ACKs seen, until a signal (martian.py)
    hostile_frames.py send DEV MAC A4 B4 A6 B6 WHAT..."""
import random
import select
import socket
import struct
import sys
import zlib

from inetsum import checksum, csum_of
from martian import TCP, UDP_ANY, answers, ip4, ip6, packed, pseudo, tcp, udp
from netlib import say

SOL_PACKET, PACKET_VNET_HDR = 263, 15
NEEDS_CSUM, DATA_VALID, RSC = 1, 2, 4
NONE, TCP4, UDP, TCP6, UDP_L4, ECN = 0, 1, 3, 4, 5, 0x80


class Sender:
    def __init__(self, dev, mac, a4, b4, a6, b6):
        self.s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
        self.s.bind((dev, 0))
        self.v = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
        self.v.setsockopt(SOL_PACKET, PACKET_VNET_HDR, 1)
        self.v.bind((dev, 0))
        self.mac = bytes.fromhex(mac.replace(":", ""))
        self.four, self.six = (packed(a4), packed(b4)), (packed(a6), packed(b6))
        self.sent, self.sport = 0, 30000

    def pace(self, n):
        self.sent += 1 + n // 100
        if self.sent >= 40:  # receivers are slower, and their queues are bounded
            self.sent = 0
            select.select([], [], [], 0.003)

    def raw(self, frame):
        self.s.send(frame)
        self.pace(len(frame))

    def lie(self, vnet, frame):
        """A frame behind a virtio header, which says what its sender has left to a device."""
        try:
            self.v.send(struct.pack("=BBHHHH", *vnet) + frame)
        except OSError:
            return  # the kernel of this host believes nothing so odd
        self.pace(len(frame))

    def eth(self, fam, to=None, kind=None):
        return (to or self.mac) + b"\2\0\0\0\0\1" + (kind or (b"\x86\xdd" if fam == 6 else b"\x08\0"))

    def ends(self, fam):
        return self.four if fam == 4 else self.six

    def datagram(self, name, fam, pad=0, **over):
        a, b = self.ends(fam)
        return (ip4 if fam == 4 else ip6)(a, b, 17, udp(a, b, UDP_ANY, name.encode() + b"." * pad), **over)

    def syn(self, name, fam):
        a, b = self.ends(fam)
        self.sport += 1
        say("port", self.sport, name)
        return (ip4 if fam == 4 else ip6)(a, b, 6, tcp(a, b, self.sport))

    def both(self, name, make):
        """Frames around a datagram and around a SYN, of both families; make(packet, fam)."""
        for fam in (4, 6):
            for kind, packet in (("u", self.datagram), ("t", self.syn)):
                text = "%s %s%d" % (name, kind, fam)
                self.raw(make(packet(text, fam), fam))


def link(s):
    """Ethernet: whose address, which tags, how long."""
    other = b"\2\0\0\0\0\x99"
    for name, to in (("foreign mac", other), ("zero mac", b"\0" * 6), ("all ones", b"\xff" * 6),
                     ("stp group", b"\1\x80\xc2\0\0\0"), ("ip group", b"\1\0\x5e\0\0\1"), ("ip6 group", b"\x33\x33\0\0\0\1"),
                     ("near mac", s.mac[:5] + bytes([s.mac[5] ^ 1])), ("own", None)):
        s.both(name, lambda p, f, to=to: s.eth(f, to) + p)
    for name, mac in (("from group", b"\1\0\x5e\1\2\3"), ("from broadcast", b"\xff" * 6), ("from zero", b"\0" * 6),
                      ("from itself", s.mac)):
        s.both(name, lambda p, f, mac=mac: s.eth(f)[:6] + mac + s.eth(f)[12:] + p)
    tags = {"priority": "8100 a000", "vlan 0": "8100 0000", "vlan 5": "8100 0005", "dei": "8100 1000", "vlan 4095": "8100 0fff",
            "vlan 1": "8100 0001", "ad 0": "88a8 0000", "ad 5": "88a8 0005", "9100": "9100 0000", "two 0": "8100 0000 8100 0000",
            "ad and q 0": "88a8 0000 8100 0000", "q in ad 5": "88a8 0000 8100 0005", "5 in 0": "8100 0000 8100 0005",
            "three 0": "8100 0000 8100 0000 8100 0000", "vlan 0 cut": "8100", "mpls": "8847 0000 0140"}
    for name, hexed in tags.items():
        tag = bytes.fromhex(hexed.replace(" ", ""))
        s.both("tag " + name, lambda p, f, tag=tag: s.eth(f)[:12] + tag + s.eth(f)[12:] + p)
    s.both("wrong type", lambda p, f: s.eth(10 - f) + p)
    s.both("llc snap", lambda p, f: s.eth(f)[:12] + struct.pack("!H", 8 + len(p)) + b"\xaa\xaa\3\0\0\0" + s.eth(f)[12:] + p)
    s.both("llc ip", lambda p, f: s.eth(f)[:12] + struct.pack("!H", 3 + len(p)) + b"\6\6\3" + p)
    s.both("length as type", lambda p, f: s.eth(f)[:12] + struct.pack("!H", len(p)) + p)
    s.both("padded", lambda p, f: s.eth(f) + p + b"\xee" * 40)
    s.both("padded to 1514", lambda p, f: s.eth(f) + p + b"\xee" * (1500 - len(p)))
    for cut in (1, 2, 8, 20, 28, 40):
        s.both("cut %d" % cut, lambda p, f, cut=cut: s.eth(f) + p[:-cut])
    for keep in (0, 1, 4, 19, 20, 21, 27, 39, 40, 47):
        s.both("keep %d" % keep, lambda p, f, keep=keep: s.eth(f) + p[:keep])


def lengths(s):
    """Lengths of IP and UDP that do not fit each other."""
    for fam in (4, 6):
        a, b = s.ends(fam)
        ip = ip4 if fam == 4 else ip6
        for more in (-9, -8, -4, -1, 1, 2, 8, 100):
            for fit in (0, 1):
                text = ("udp len %+d fit %d u%d " % (more, fit, fam)).encode() + b"." * 20
                n = 8 + len(text) + more
                u = udp(a, b, UDP_ANY, text, length=n)
                if fit:  # a checksum for what the length says
                    c = checksum(pseudo(a, b, 17, n) + (u[:6] + b"\0\0" + u[8:] + b"\0" * 100)[:max(n, 8)])
                    u = u[:6] + struct.pack("!H", c or 0xFFFF) + u[8:]
                s.raw(s.eth(fam) + ip(a, b, 17, u))
                s.raw(s.eth(fam) + ip(a, b, 17, u) + b"\0" * 120)
        for name, sum_ in (("sum 0", 0), ("sum ffff", 0xFFFF)):
            u = udp(a, b, UDP_ANY, ("%s u%d" % (name, fam)).encode())
            s.raw(s.eth(fam) + ip(a, b, 17, u[:6] + struct.pack("!H", sum_) + u[8:]))
        p = s.datagram("ip longer than frame u%d" % fam, fam, pad=40)
        s.raw(s.eth(fam) + p[:-20])
    a, b = s.six
    jumbo = b"\xc2\4" + struct.pack("!I", 70000)
    for name, n, ext in (("jumbo 0", 0, jumbo), ("jumbo and length", 60, jumbo), ("jumbo small", 0, b"\xc2\4\0\0\0\x40")):
        s.raw(s.eth(6) + ip6(a, b, 17, udp(a, b, UDP_ANY, name.encode()), ext=b"\x11\0" + ext, next=0, len=n))


def unfinished(s):
    """Checksums of headers without the rest: a device is to finish them. Nobody says so of these."""
    for fam in (4, 6):
        a, b = s.ends(fam)
        ip = ip4 if fam == 4 else ip6
        s.raw(s.eth(fam) + ip(a, b, 17, exact(udp(a, b, UDP_ANY, b"unfinished u%d" % fam), a, b)))
        name = "unfinished t%d" % fam
        s.sport += 1
        say("port", s.sport, name)
        s.raw(s.eth(fam) + ip(a, b, 6, exact(tcp(a, b, s.sport), a, b)))


def fragments(s):
    """In pieces: whole, overlapping, tiny, atomic, never complete; what comes first, what lies on top."""
    rng = random.Random(7)
    first = random.randrange(60000)  # (the kernel keeps pieces of an earlier run)
    for fam in (4, 6):
        a, b = s.ends(fam)

        def piece(ident, payload, off, more, nxt=17):
            if fam == 4:
                return ip4(a, b, 17, payload, id=ident, frag=(0x2000 if more else 0) | off // 8)
            return ip6(a, b, nxt, payload, ext=struct.pack("!BBHI", nxt, 0, off | more, ident), next=44)
        plans = {"in order": [(0, 24, 1), (24, 48, 1), (48, None, 0)], "reverse": [(48, None, 0), (24, 48, 1), (0, 24, 1)],
                 "overlap": [(0, 32, 1), (24, 48, 1), (48, None, 0)], "same twice": [(0, 24, 1), (0, 24, 1), (24, None, 0)],
                 "tiny first": [(0, 8, 1), (8, None, 0)], "last over first": [(0, 32, 1), (8, None, 0)],
                 "two ends": [(0, 24, 1), (24, 40, 0), (24, None, 0)], "hole": [(0, 24, 1), (32, None, 0)],
                 "atomic": [(0, None, 0)], "odd": [(0, 21, 1), (21, None, 0)], "no first": [(8, None, 0)]}
        for i, (name, plan) in enumerate(plans.items()):
            text = ("fragments %s u%d " % (name, fam)).encode() + b"-" * 40
            u = udp(a, b, UDP_ANY, text)
            for at, end, more in plan:
                s.raw(s.eth(fam) + piece(first + i, u[at:end], at, more))
            # The second copy of what overlaps says something else.
            text = ("fragments %s bad u%d " % (name, fam)).encode() + b"-" * 40
            u = udp(a, b, UDP_ANY, text)
            for k, (at, end, more) in enumerate(plan):
                part = bytearray(u[at:end])
                if k == 1 and len(part) > 2:
                    part[0] ^= 0x20
                s.raw(s.eth(fam) + piece(first + 20 + i, bytes(part), at, more))
        for i in range(40):  # beyond 64 KB
            s.raw(s.eth(fam) + piece(first + 40 + i, rng.randbytes(64), 65528 - 8 * (i % 8), i & 1))


def exact(u, a, b):
    """The datagram or segment with the sum of its pseudo-header alone, as for a device."""
    proto, at = (17, 6) if len(u) and u is not None and struct.unpack("!H", u[2:4])[0] == UDP_ANY else (6, 16)
    s = csum_of(pseudo(a, b, proto, len(u)))
    while s >> 16:
        s = (s & 0xFFFF) + (s >> 16)
    return u[:at] + struct.pack("!H", s) + u[at + 2:]


def virtio(s):
    """Virtio headers, right and wrong, in front of right packets."""
    for fam in (4, 6):
        a, b = s.ends(fam)
        ip, l4 = (ip4, 34) if fam == 4 else (ip6, 54)

        def put(name, flags=0, gso=0, hdr_len=0, size=0, start=0, off=0, n=40, part=False, kind="u"):
            text = ("virtio %s %s%d " % (name, kind, fam)).encode()
            if kind == "t":
                s.sport += 1
                say("port", s.sport, text.decode().strip())
                u = tcp(a, b, s.sport)
            else:
                u = udp(a, b, UDP_ANY, text + bytes(48 + i % 70 for i in range(n)))
            if part:
                u = exact(u, a, b)
            s.lie((flags, gso, hdr_len, size, start, off), s.eth(fam) + ip(a, b, 17 if kind == "u" else 6, u))
        for kind, field in (("u", 6), ("t", 16)):
            put("needs", NEEDS_CSUM, 0, 0, 0, l4, field, part=True, kind=kind)
            put("needs with hdr_len", NEEDS_CSUM, 0, l4 + 8, 0, l4, field, part=True, kind=kind)
            for start, off in ((0, 0), (0, 6), (14, 6), (14, 10), (l4, 0), (l4, 2), (l4, 5), (l4, 7), (l4, 20), (l4 + 1, field),
                               (l4 - 1, field), (l4 + 8, 0), (l4 + 30, 8), (65535, 6), (65535, 65535), (l4, 65534),
                               (200, 10), (100, 0), (12, 0), (6, 4)):
                put("start %d off %d" % (start - l4, off), NEEDS_CSUM, 0, 0, 0, start, off, kind=kind)
                put("partial start %d off %d" % (start - l4, off), NEEDS_CSUM, 0, 0, 0, start, off, part=True, kind=kind)
            for flags in (DATA_VALID, RSC, 7, 0xF8, 0xFF):
                put("flags %x" % flags, flags, 0, 0, 0, l4, field, kind=kind)
                put("flags %x partial" % flags, flags, 0, 0, 0, l4, field, part=True, kind=kind)
        for gso in (TCP4, 2, UDP, TCP6, UDP_L4, 6, 7, ECN, TCP4 | ECN, UDP_L4 | ECN, 0x40, 0x7F, 0xFF):
            for size, n, flags in ((0, 40, 1), (1, 40, 1), (8, 40, 1), (40, 1200, 1), (500, 1200, 1), (500, 1200, 0), (1400, 1200, 1),
                                   (65535, 1200, 1)):
                put("gso %x size %d n %d flags %d" % (gso, size, n, flags), flags, gso, l4 + 8, size, l4, 6, n=n,
                    part=bool(flags))
        for hdr_len in (0, 1, 14, l4, l4 + 7, l4 + 8, l4 + 9, 200, 65535):
            put("hdr_len %d" % (hdr_len - l4), NEEDS_CSUM, UDP_L4, hdr_len, 200, l4, 6, n=900, part=True)
        for n, size in ((127, 1), (128, 1), (129, 1), (3000, 24), (1472 - 40, 100), (3000, 2999), (20000, 1400)):
            put("whole %d of %d" % (n, size), NEEDS_CSUM, UDP_L4, l4 + 8, size, l4, 6, n=n, part=True)
        for start, off in ((l4, 16), (14, 6), (l4 + 2, 6), (0, 0), (l4 + 8, 6)):
            put("gso start %d off %d" % (start - l4, off), NEEDS_CSUM, UDP_L4, l4 + 8, 200, start, off, n=900, part=True)
        # UDP's own length says less, or more, than the packet of segments.
        for delta in (-500, -1, 1, 100):
            text = ("virtio length %+d u%d " % (delta, fam)).encode() + b"x" * 900
            u = bytearray(exact(udp(a, b, UDP_ANY, text), a, b))
            u[4:6] = struct.pack("!H", len(u) + delta)
            s.lie((NEEDS_CSUM, UDP_L4, l4 + 8, 300, l4, 6), s.eth(fam) + ip(a, b, 17, bytes(u)))
            s.lie((NEEDS_CSUM, NONE, 0, 0, l4, 6), s.eth(fam) + ip(a, b, 17, bytes(u)))
        if fam == 4:
            for frag in (0x2000, 1, 0x4000):
                u = exact(udp(a, b, UDP_ANY, b"virtio frag %x" % frag + b"y" * 900), a, b)
                s.lie((NEEDS_CSUM, UDP_L4, 42, 300, 34, 6), s.eth(4) + ip4(a, b, 17, u, frag=frag, id=9))
            for o in (b"\1\1\1\0", b"\x94\4\0\0"):
                u = exact(udp(a, b, UDP_ANY, b"virtio opts " + o.hex().encode() + b"z" * 900), a, b)
                s.lie((NEEDS_CSUM, UDP_L4, 46, 300, 38, 6), s.eth(4) + ip4(a, b, 17, u, opts=o))
        else:
            for kind in (0, 60):
                u = exact(udp(a, b, UDP_ANY, b"virtio ext %d " % kind + b"z" * 900), a, b)
                s.lie((NEEDS_CSUM, UDP_L4, l4 + 16, 300, l4 + 8, 6),
                      s.eth(6) + ip6(a, b, 17, u, ext=b"\x11\0\1\4\0\0\0\0", next=kind))


def send(*args):
    s = Sender(*args[:6])
    for what in args[6:]:
        {"link": link, "lengths": lengths, "unfinished": unfinished, "fragments": fragments, "virtio": virtio}[what](s)
    for fam in (4, 6):
        s.raw(s.eth(fam) + s.datagram("end", fam))


def receive(b4, b6):
    socks = []
    for own, fam in ((b4, socket.AF_INET), (b6, socket.AF_INET6)):
        u = socket.socket(fam, socket.SOCK_DGRAM)
        u.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
        u.bind((own, UDP_ANY))
        t = socket.socket(fam, socket.SOCK_STREAM)
        t.bind((own, TCP))
        t.listen(4096)
        socks += [u, t]
    say("ready")
    open_ = socks[::2]
    while open_:
        for s in select.select(open_, [], [])[0]:
            data = s.recv(70000)
            if data == b"end":
                open_.remove(s)
                continue
            name = data[:60].split(b"  ")[0].decode("latin-1").replace("\n", "?").replace("\0", "")
            say("%s | %d %08x" % (name, len(data), zlib.crc32(data)))


if __name__ == "__main__":
    {"send": send, "receive": receive, "answers": answers}[sys.argv[1]](*sys.argv[2:])
