# SPDX-License-Identifier: BSD-2-Clause
"""What a station learns from the numbers in packets: see hostile_numbers.sh.

    hostile_numbers.py send OWN PEER GHOST     opens sockets and sends to PEER (TCP port 7000) and GHOST
    hostile_numbers.py look DEV OWN            prints what the packets of OWN tell, until a datagram to port 10"""
import socket
import struct
import sys

from netlib import is6, say

ROUNDS, SENDS = 4, 12
NO_DISCOVERY = {4: (socket.IPPROTO_IP, 10, 0), 6: (socket.IPPROTO_IPV6, 23, 0)}  # IP_MTU_DISCOVER, IP_PMTUDISC_DONT


def send(own, peer, ghost):
    fam = socket.AF_INET6 if is6(own) else socket.AF_INET
    kept = []

    def sock(kind, dont):
        s = socket.socket(fam, kind)
        kept.append(s)  # (else a later one could get its port)
        if dont:
            s.setsockopt(*NO_DISCOVERY[6 if is6(own) else 4])
        if kind == socket.SOCK_DGRAM:
            s.bind((own, 0))
        return s
    for i in range(ROUNDS):
        for dont in (0, 1):
            text = b"%d%d" % (dont, i)
            s = sock(socket.SOCK_DGRAM, dont)
            for n in range(SENDS):
                s.sendto(b"free" + text, ((peer, ghost)[n & 1], 9))
            s = sock(socket.SOCK_DGRAM, dont)
            s.connect((ghost, 9))
            for _ in range(3):
                s.send(b"conn" + text)
            s = sock(socket.SOCK_STREAM, dont)
            s.connect((peer, 7000))
    sock(socket.SOCK_DGRAM, 0).sendto(b"end", (peer, 10))


class Seen:
    def __init__(self):
        self.ids, self.stamps, self.isns, self.sports, self.labels = {}, {}, {}, {}, {}

    def tcp(self, t, ident):
        sport, _, seq, _, off, flags = struct.unpack("!HHIIBB", t[:14])
        if flags & 18 != 2 or sport in self.isns:
            return
        self.isns[sport] = seq
        self.ids.setdefault("tcp", []).append(ident)
        i, opts = 0, t[20:(off >> 4) * 4]
        while i < len(opts) and opts[i]:
            if opts[i] == 8:
                self.stamps[sport] = struct.unpack("!I", opts[i + 2:i + 6])[0]
            i += 1 if opts[i] == 1 else opts[i + 1]

    def udp(self, u, dst, ident):
        self.ids.setdefault(u[8:14].decode() + " " + dst.hex(), []).append(ident)


def step(numbers):
    """The differences of numbers that follow each other."""
    return [(b - a) & 0xFFFF for a, b in zip(numbers, numbers[1:])]


def near(numbers, bits):
    """"yes": most of them lie within a 1024th of their range from another one, "no": they do not."""
    dist = 1 << bits >> 10
    n = sum(any(min((a - b) % (1 << bits), (b - a) % (1 << bits)) <= dist for j, b in enumerate(numbers) if i != j)
            for i, a in enumerate(numbers))
    return "yes" if 2 * n > len(numbers) else "no"


def facts(seen, six):
    free = [v for k, v in seen.ids.items() if k.startswith("free")]
    conn = [v[0] for k, v in seen.ids.items() if k.startswith("conn")]
    say("sockets", len(free), len(conn), len(seen.isns))
    if not six:
        told = sum(step(v).count(2) == len(v) - 1 for v in free)
        say("unconnected sockets whose IDs to one host count what another gets", told)
        ends = {}
        for k, v in seen.ids.items():
            if k.startswith("free"):
                ends.setdefault(k[7:], []).append(v[0])
        pairs = list(zip(*ends.values()))
        say("IDs of two destinations are near each other", "always" if all(
            min((a - b) & 0xFFFF, (b - a) & 0xFFFF) < 64 for a, b in pairs) else "no")
        for name, first in (("connected", conn), ("tcp", seen.ids["tcp"])):
            say(name, "first IDs can be foreseen", near(first, 16))
    else:
        say("labels of flows are the same", "yes" if len({v[0] for v in seen.ids.values()}) < len(seen.ids) / 2 else "no")
    say("initial numbers can be foreseen", near(list(seen.isns.values()), 32))
    say("time stamps of one connection tell others'", near(list(seen.stamps.values()), 32))
    ports = list(seen.isns)
    say("ports follow each other", "yes" if all(0 < s <= 2 for s in step(ports)) else "no")


def look(dev, own):
    six, src = is6(own), socket.inet_pton(socket.AF_INET6 if is6(own) else socket.AF_INET, own)
    s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
    s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 24)
    s.bind((dev, 0))
    s.settimeout(10)
    say("ready")
    seen = Seen()
    while True:
        f, where = s.recvfrom(2000)
        if where[2] == 4 or f[12:14] != (b"\x86\xdd" if six else b"\x08\0"):
            continue
        l4 = f[54 if six else 34:]
        if (f[22:38] if six else f[26:30]) != src:
            continue
        ident = struct.unpack("!I", f[14:18])[0] & 0xFFFFF if six else struct.unpack("!H", f[18:20])[0]
        if f[20 if six else 23] == 6:
            seen.tcp(l4, ident)
        elif l4[2:4] == b"\0\n":
            return facts(seen, six)
        elif l4[8:12] in (b"free", b"conn"):
            seen.udp(l4, f[38:54] if six else f[30:34], ident)


{"send": send, "look": look}[sys.argv[1]](*sys.argv[2:])
