#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""serve DEVICE: a subject that does what its input says: send ADDR PORT N TOS SIZE, tcp ADDR PORT N, end. Prints "sent N",
how many of the packets the kernel's DEVICE sent, and what came back.
sniff DEVICE N: prints what is outside of N datagrams of `serve` that come wrapped in VXLAN, each kind once."""
import socket
import struct
import sys
import time

MARK = b"wrapped! "


def fold(data):
    if len(data) % 2:
        data += b"\0"
    s = sum(struct.unpack(f">{len(data) // 2}H", data))
    while s >> 16:
        s = (s & 0xFFFF) + (s >> 16)
    return s


def count(device):
    with open("/proc/net/dev", encoding="ascii") as f:
        return next(int(line.split()[10]) for line in f if line.split()[0] == device + ":")


def address(a):
    return (socket.AF_INET6 if ":" in a else socket.AF_INET), a


def do_send(device, to, port, n, tos, size):
    family, to = address(to)
    s = socket.socket(family, socket.SOCK_DGRAM)
    s.settimeout(0.5)
    s.setsockopt(*((socket.IPPROTO_IPV6, 67) if ":" in to else (socket.IPPROTO_IP, socket.IP_TOS)), int(tos, 0))
    s.connect((to, int(port)))
    good = 0
    for _ in range(100):  # route, neighbours and fdb are known then
        s.send(b"first")
        time.sleep(0.002)
    before = count(device)
    for i in range(int(n)):
        s.send((MARK + b"%d " % i).ljust(int(size), b"."))
        try:
            while not s.recv(65536).startswith(MARK):
                pass
            good += 1
        except OSError:
            pass
    print("sent", n, "back", good, "kernel", count(device) - before, flush=True)


def do_tcp(device, to, port, n):
    family, to = address(to)
    s = socket.socket(family, socket.SOCK_STREAM)
    s.settimeout(5)
    s.connect((to, int(port)))
    before = count(device)
    data, got = bytes(range(256)) * (int(n) // 256), b""
    for i in range(0, len(data), 8192):
        s.sendall(data[i : i + 8192])
        while len(got) < min(len(data), i + 8192):
            more = s.recv(65536)
            if not more:
                break
            got += more
    print("sent", len(data), "back", "whole" if got == data else "else", "kernel", count(device) - before, flush=True)


def serve(device):
    print("ready", flush=True)
    for line in sys.stdin:
        what, *args = line.split()
        if what == "end":
            return
        (do_send if what == "send" else do_tcp)(device, *args)


def outside(p, low):
    """(text, inner frame) of a packet in VXLAN; None: it is none."""
    kind = struct.unpack(">H", p[12:14])[0]
    if kind == 0x800 and p[14] == 0x45 and p[23] == 17:
        ip, l4 = p[14:34], p[34 : 14 + struct.unpack(">H", p[16:18])[0]]
        tos, ttl, df = ip[1], ip[8], bool(ip[6] & 0x40)
        ends = [socket.inet_ntop(socket.AF_INET, ip[i : i + 4]) for i in (12, 16)]
        good = fold(ip) == 0xFFFF and not ip[6] & 0x3F
        pseudo = ip[12:20] + struct.pack(">HH", 17, len(l4))
    elif kind == 0x86DD and p[20] == 17:
        ip, l4 = p[14:54], p[54 : 54 + struct.unpack(">H", p[18:20])[0]]
        first = struct.unpack(">I", ip[:4])[0]
        tos, ttl, df = first >> 20 & 0xFF, ip[7], first & 0xFFFFF
        ends = [socket.inet_ntop(socket.AF_INET6, ip[i : i + 16]) for i in (8, 24)]
        good = True
        pseudo = ip[8:40] + struct.pack(">HH", 17, len(l4))
    else:
        return None
    sport, dport, n, check = struct.unpack(">4H", l4[:8])
    flags, vni = struct.unpack(">II", l4[8:16])
    sum_is = "none" if not check else "good" if fold(pseudo + l4) == 0xFFFF else "BAD"
    # (The sender's kernel may leave the sum to a NIC, and the sniffer is in front of that.)
    if sum_is == "BAD" and fold(pseudo) == check:
        sum_is = "good"
    in_range = "in" if low[0] <= sport < low[1] else "OUT OF"
    return (
        f"{p[:6].hex()} {p[6:12].hex()} {' '.join(ends)} tos {tos:x} ttl {ttl} df {df} header {'good' if good else 'BAD'}"
        f" port {dport}, source {in_range} range, length {'good' if n == len(l4) else 'BAD'} sum {sum_is}"
        f" flags {flags:x} vni {vni:x}",
        l4[16:],
    )


def sniff(device, n, low, high):
    s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
    s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
    s.bind((device, 0))
    s.settimeout(4)
    print("ready", flush=True)
    seen, kinds = 0, set()
    try:
        while seen < int(n):
            p, where = s.recvfrom(65536)
            if where[2] == socket.PACKET_OUTGOING or MARK not in p:
                continue
            got = outside(p, (int(low), int(high)))
            if got:
                seen += 1
                kinds.add(got[0])
    except OSError:
        pass
    print("seen", seen)
    print("\n".join(sorted(kinds)), flush=True)


if sys.argv[1] == "serve":
    serve(sys.argv[2])
else:
    sniff(*sys.argv[2:])
