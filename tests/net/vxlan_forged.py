#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""take ADDR PORT: prints the datagrams that come until "end". forge OUTER MAC SOURCE ADDR PORT: sends to it, in VXLAN of its
own making by a UDP socket to OUTER: good datagrams, alone and several in a row at once, and forged ones, then "end"."""
import ipaddress
import socket
import struct
import sys
import time

UDP_SEGMENT = 103
VNI = 42


def take(addr, port):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.bind((addr, int(port)))
    s.settimeout(10)
    print("ready", flush=True)
    got = []
    while not got or got[-1] != "end":
        data = s.recv(65536)
        got.append(data.split(b".")[0].decode() + ("" if len(data) < 100 else ":%d" % len(data)))
    print(" ".join(sorted(set(got))), flush=True)


def summed(data):
    data += b"\0" * (len(data) % 2)
    n = sum(struct.unpack(">%dH" % (len(data) // 2), data))
    while n >> 16:
        n = (n & 0xFFFF) + (n >> 16)
    return n ^ 0xFFFF


class Forger:
    def __init__(self, outer, mac, source, addr, port):
        self.mac = bytes.fromhex(mac.replace(":", ""))
        self.ends = ipaddress.ip_address(source).packed + ipaddress.ip_address(addr).packed
        self.port = int(port)
        self.s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.s.connect((outer, 4789))

    def packet(self, payload, **bad):
        """In VXLAN. bad: fields that are not what they should be."""
        n = bad.get("length", 8 + len(payload))
        udp = struct.pack(">4H", 7777, self.port, n, 0) + payload
        check = summed(self.ends + struct.pack(">2H", 17, n) + udp) or 0xFFFF
        udp = udp[:6] + struct.pack(">H", check ^ bad.get("sum", 0)) + udp[8:]
        ip = struct.pack(">2B3H2BH", 0x45, 0, bad.get("total", 20 + n), 1, 0, 64, 17, 0) + self.ends
        ip = ip[:10] + struct.pack(">H", summed(ip) ^ bad.get("ipsum", 0)) + ip[12:]
        to = bad.get("mac", self.mac)
        head = struct.pack(">2I", bad.get("flags", 0x08000000), bad.get("vni", VNI) << 8)
        return head + to + b"\x02\0\0\0\x99\x99\x08\0" + ip + udp

    def send(self, data, segment=0):
        self.s.setsockopt(socket.IPPROTO_UDP, UDP_SEGMENT, segment)
        try:
            self.s.send(data)
        except OSError:  # before Linux 6.11 only where the device makes checksums
            self.s.setsockopt(socket.IPPROTO_UDP, UDP_SEGMENT, 0)
            for i in range(0, len(data), segment or len(data)):
                self.s.send(data[i : i + (segment or len(data))])
        time.sleep(0.01)


def forge(*args):
    f = Forger(*args)
    f.send(f.packet(b"first."))
    time.sleep(0.3)
    for i in range(8):
        f.send(f.packet(b"good%d." % i))
    f.send(f.packet(b"long." + b"x" * 1300))
    for name, bad in (
        ("sum", {"sum": 1}),
        ("ipsum", {"ipsum": 1}),
        ("total", {"total": 200}),
        ("vni", {"vni": 43}),
        ("flags", {"flags": 0}),
        ("mac", {"mac": b"\x02\0\0\0\x88\x88"}),
    ):
        f.send(f.packet(b"bad-" + name.encode() + b".", **bad))
    # Several packets at once, which the kernel may hand over whole.
    row = [f.packet(b"row%d." % i + b"y" * 400) for i in range(6)]
    f.send(b"".join(row), len(row[0]))
    row = [f.packet(b"sums%d." % i + b"y" * 400, sum=i % 2) for i in range(6)]
    f.send(b"".join(row), len(row[0]))
    # A single packet in a row; its header claims the whole row's length.
    f.send(f.packet(b"whole." + b"z" * 5000), 1000)
    f.send(f.packet(b"whole-sum." + b"z" * 5000, sum=1), 1000)
    time.sleep(0.2)
    for _ in range(3):
        f.send(f.packet(b"end"))


(take if sys.argv[1] == "take" else forge)(*sys.argv[2:])
