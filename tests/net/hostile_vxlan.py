# SPDX-License-Identifier: BSD-2-Clause
"""VXLAN packets that a station forges, outside and inside: see hostile_vxlan.sh.

    hostile_vxlan.py receive IN4 IN6                                            what is delivered, until "end"
    hostile_vxlan.py send DEV MAC A4 B4 A6 B6 IN_MAC IN_A4 IN_B4 IN_A6 IN_B6    sends to it"""
import random
import select
import socket
import struct
import sys

from inetsum import checksum
from martian import ip4, ip6, packed, pseudo
from netlib import say

VNI, ANY, BOUND = 42, 7000, 7001


def udp(src, dst, sport, dport, text, csum=None):
    n = 8 + len(text)
    h = struct.pack("!HHHH", sport, dport, n, 0)
    c = (checksum(pseudo(src, dst, 17, n) + h + text) or 0xFFFF) if csum is None else csum
    return h[:6] + struct.pack("!H", c) + text


class Sender:
    def __init__(self, dev, mac, a4, b4, a6, b6, in_mac, in_a4, in_b4, in_a6, in_b6):
        self.s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
        self.s.bind((dev, 0))
        self.mac, self.in_mac = (bytes.fromhex(m.replace(":", "")) for m in (mac, in_mac))
        self.outer = {4: (packed(a4), packed(b4)), 6: (packed(a6), packed(b6))}
        self.inner = {4: (packed(in_a4), packed(in_b4)), 6: (packed(in_a6), packed(in_b6))}
        self.n = 0

    def eth(self, fam, to=None, mac=None, tags=b""):
        return (to or mac or self.in_mac) + b"\x02\0\0\0\x99\x99" + tags + (b"\x08\0" if fam == 4 else b"\x86\xdd")

    def datagram(self, fam, name, port, src=None, dst=None, csum=None, ext=b"", next=17, **over):
        a, b = self.inner[fam]
        a, b = src or a, dst or b
        u = udp(a, b, 53, port, name.encode(), csum)
        return ip4(a, b, 17, u, ext, **over) if fam == 4 else ip6(a, b, next, u, ext, **over)

    def vxlan(self, inner, flags=0x08000000, vni=VNI << 8):
        return struct.pack("!II", flags, vni) + inner

    def put(self, inner, fam=4, src=None, dst=None, to=None, csum=None, sport=4000, ext=b"", tags=b"", vx=None, **over):
        """In an outer packet of that family. vx: fields of the VXLAN header."""
        a, b = self.outer[fam]
        a, b = src or a, dst or b
        u = udp(a, b, sport, 4789, self.vxlan(inner, **(vx or {})), csum)
        ip = ip4(a, b, 17, u, ext, **over) if fam == 4 else ip6(a, b, 17, u, ext, **over)
        self.s.send(self.eth(fam, to, self.mac, tags) + ip)
        self.n += 1
        if self.n % 20 == 0:
            select.select([], [], [], 0.004)

    def each(self, name, how):
        """how(port, name) for both ports."""
        for port in ANY, BOUND:
            how(port, "%s %d" % (name, port))

    def outside(self, name, **how):
        """A good datagram, in an outer packet that is not."""
        self.each("outer " + name, lambda port, text: self.put(self.eth(4) + self.datagram(4, text, port), **how))

    def inside(self, name, fam=4, eth=None, **how):
        """A datagram that is not good, in a good outer packet."""
        self.each("inner %d %s" % (fam, name),
                  lambda port, text: self.put((eth or self.eth(fam)) + self.datagram(fam, text, port, **how)))


def outer(s):
    a, b = s.outer[4]
    for name, src in (("loopback", "127.0.0.1"), ("own", None), ("zero", "0.0.0.0"), ("group", "224.0.0.9"),
                      ("broadcast", "255.255.255.255"), ("future", "240.0.0.1"), ("stranger", "203.0.113.9")):
        s.outside("from " + name, src=packed(src) if src else b)
    s.outside("to loopback", dst=packed("127.0.0.1"))
    s.outside("to all", dst=packed("255.255.255.255"), to=b"\xff" * 6)
    s.outside("to the subnet", dst=b[:3] + b"\xff", to=b"\xff" * 6)
    s.outside("to a group", dst=packed("239.1.1.1"), to=b"\1\0\x5e\1\1\1")
    s.outside("broadcast frame", to=b"\xff" * 6)
    s.outside("frame of others", to=b"\2\0\0\0\x88\x88")
    s.outside("without a sum", csum=0)
    s.outside("wrong sum", csum=0x1234)
    s.outside("from port 0", sport=0)
    s.outside("options", ext=b"\x07\x07\x04" + bytes(4) + b"\0")
    s.outside("source route", ext=b"\x83\x07\x04" + b + b"\0")
    s.outside("more fragments", frag=0x2000)
    s.outside("a later fragment", frag=1)
    s.outside("priority tag", tags=b"\x81\0\x60\0")
    s.outside("VLAN", tags=b"\x81\0\0\7")
    for name, vx in (("no flag", dict(flags=0)), ("other flags", dict(flags=0x88000000)), ("all flags", dict(flags=0xFFFFFFFF)),
                     ("reserved", dict(flags=0x08000001)), ("GPE", dict(flags=0x0C000001)), ("offload", dict(flags=0x08200000)),
                     ("reserved byte", dict(vni=VNI << 8 | 1)), ("VNI of others", dict(vni=43 << 8)), ("VNI 0", dict(vni=0))):
        s.outside(name, vx=vx)
    s.each("outer IPv6", lambda port, text: s.put(s.eth(4) + s.datagram(4, text, port), fam=6))


def inner(s):
    b4, b6 = s.inner[4][1], s.inner[6][1]
    for name, src in (("loopback", "127.0.0.1"), ("zero", "0.0.0.0"), ("group", "224.0.0.9"), ("broadcast", "255.255.255.255"),
                      ("future", "240.0.0.1"), ("stranger", "203.0.113.9")):
        s.inside("from " + name, src=packed(src))
    s.inside("from own", src=b4)
    s.inside("from own outer", src=s.outer[4][1])
    s.inside("to loopback", dst=packed("127.0.0.1"))
    s.inside("to the outer address", dst=s.outer[4][1])
    s.inside("to all", dst=packed("255.255.255.255"), eth=s.eth(4, b"\xff" * 6))
    s.inside("to the subnet", dst=b4[:3] + b"\xff", eth=s.eth(4, b"\xff" * 6))
    s.inside("to a group", dst=packed("239.1.1.1"), eth=s.eth(4, b"\1\0\x5e\1\1\1"))
    for name, src in (("loopback", "::1"), ("any", "::"), ("group", "ff02::1"), ("mapped", "::ffff:1.2.3.4"),
                      ("stranger", "2001:db8::9"), ("link-local", "fe80::9")):
        s.inside("from " + name, 6, src=packed(src))
    s.inside("from own", 6, src=b6)
    s.inside("to loopback", 6, dst=packed("::1"))
    s.inside("to a group", 6, dst=packed("ff02::1"), eth=s.eth(6, b"\x33\x33\0\0\0\1"))
    for fam in 4, 6:
        s.inside("broadcast frame", fam, eth=s.eth(fam, b"\xff" * 6))
        s.inside("group frame", fam, eth=s.eth(fam, b"\1\0\x5e\0\0\1"))
        s.inside("frame of others", fam, eth=s.eth(fam, b"\2\0\0\0\x88\x88"))
        s.inside("priority tag", fam, eth=s.eth(fam, tags=b"\x81\0\x60\0"))
        s.inside("VLAN", fam, eth=s.eth(fam, tags=b"\x81\0\0\7"))
        s.inside("two VLANs", fam, eth=s.eth(fam, tags=b"\x88\xa8\0\7\x81\0\0\7"))
        s.inside("wrong type", fam, eth=s.eth(10 - fam))
        s.inside("wrong sum", fam, csum=0x1234)
        s.inside("without a sum", fam, csum=0)
        s.inside("version", fam, ver=fam ^ 2)
        for n in 0, 27, 100:
            s.inside("length %d" % n, fam, len=n)
    s.inside("wrong sum of IP", csum=None, ext=b"\1\1\1\0", ihl=5)
    s.inside("options", ext=b"\x07\x07\x04" + bytes(4) + b"\0")
    s.inside("source route", ext=b"\x83\x07\x04" + b4 + b"\0")
    s.inside("time stamps", ext=b"\x44\x08\x05\0" + bytes(4))
    s.inside("more fragments", frag=0x2000)
    s.inside("a later fragment", frag=1)
    s.inside("evil", frag=0x8000)
    s.inside("dying", ttl=0)
    u = lambda port: struct.pack("!BBHI", 17, 0, 0, 7)
    s.inside("atomic fragment", 6, ext=u(0), next=44)
    s.inside("hop by hop", 6, ext=b"\x11\0\1\4" + bytes(4), next=0)
    s.inside("destination options", 6, ext=b"\x11\0\1\4" + bytes(4), next=60)
    s.inside("routing header 0", 6, ext=b"\x11\2\0\1" + bytes(4) + b6, next=43)
    s.inside("routing header 0 done", 6, ext=b"\x11\2\0\0" + bytes(4) + b6, next=43)
    s.inside("no next header", 6, next=59)
    s.inside("twenty headers", 6, ext=b"\x3c\0\1\4" + bytes(4) + (b"\x3c\0\1\4" + bytes(4)) * 18 + b"\x11\0\1\4" + bytes(4),
             next=60)
    nested(s)


def nested(s):
    """In VXLAN twice, three times; to the address inside and the one outside."""
    for name, (a, b) in (("inside", s.inner[4]), ("outside", s.outer[4])):
        for depth in 1, 2, 5:
            def how(port, text, a=a, b=b, depth=depth):
                packet = s.eth(4) + s.datagram(4, text, port)
                for _ in range(depth):
                    packet = s.eth(4) + ip4(a, b, 17, udp(a, b, 4000, 4789, s.vxlan(packet)))
                s.put(packet)
            s.each("nested %d %s" % (depth, name), how)


def send(*args):
    s = Sender(*args)
    for _ in range(3):
        s.inside("first")
        select.select([], [], [], 0.1)
    for fam in 4, 6:
        s.inside("good", fam)
    outer(s)
    inner(s)
    noise(s)
    select.select([], [], [], 0.3)
    for _ in range(5):
        for fam in 4, 6:
            for port in ANY, BOUND:
                s.put(s.eth(fam) + s.datagram(fam, "end", port))


def noise(s):
    """Bytes of good packets at random."""
    rng = random.Random(5)
    for i in range(400):
        fam = 4 + i % 2 * 2
        a, b = s.outer[4]
        text = "noise %d" % i
        data = bytearray(udp(a, b, 4000, 4789, s.vxlan(s.eth(fam) + s.datagram(fam, text, BOUND, csum=0 if fam == 4 else None)), 0))
        for _ in range(1 + i % 3):
            at = rng.randrange(8, len(data) - len(text))
            data[at] = rng.choice((0, 255, data[at] ^ 1 << rng.randrange(8), rng.randrange(256)))
        s.s.send(s.eth(4, None, s.mac) + ip4(a, b, 17, bytes(data)))
        if i % 20 == 0:
            select.select([], [], [], 0.004)


def receive(in4, in6):
    socks = {}
    for fam, own in ((socket.AF_INET, in4), (socket.AF_INET6, in6)):
        for port, addr in ((ANY, "0.0.0.0" if fam == socket.AF_INET else "::"), (BOUND, own)):
            u = socket.socket(fam, socket.SOCK_DGRAM)
            if fam == socket.AF_INET6:
                u.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            u.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
            u.bind((addr, port))
            socks[u] = port
    say("ready")
    got, ended = [], set()
    while len(ended) < len(socks):
        ready = select.select(list(socks), [], [], 20)[0]
        if not ready:
            say("no end")
            break
        for u in ready:
            data, where = u.recvfrom(65536)
            if data == b"end":
                ended.add(u)
            else:
                got.append("%s | from %s to %d, %d bytes" % (data.decode("latin1"), where[0], socks[u], len(data)))
    for line in sorted(got):
        say(line)


{"receive": receive, "send": send}[sys.argv[1]](*sys.argv[2:])
