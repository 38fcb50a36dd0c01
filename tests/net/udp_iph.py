# SPDX-License-Identifier: BSD-2-Clause
"""udp_iph.py send OWN4 OWN6 PEER4 PEER6 | see DEVICE FILE: send: sends datagrams from several sockets. see: captures
them and prints their IP headers, until one to port 7009 comes."""
from netlib import *


def send(own4, own6, peer4, peer6):
    for own, peer in (own4, peer4), (own6, peer6):
        connected, other = udp(own), udp(own)
        connected.connect((peer, 7001))
        for _ in range(3):
            connected.send(b"x")
            other.sendto(b"x", (peer, 7002))
            other.sendto(b"x", (peer, 7003))
    other.sendto(b"x", (peer, 7009))


def see(device, file):
    s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
    s.bind((device, 0))
    s.settimeout(TIMEOUT)
    sinks = [udp("::", p) for p in (7001, 7002, 7003, 7009)]
    with open(file, "w") as out:
        print("looking", file=out, flush=True)
        seen, labels = set(), {}
        while True:
            p, addr = s.recvfrom(2000)
            ether = struct.unpack_from("!H", p, 12)[0]
            if addr[2] == 4 or ether not in (0x800, 0x86dd) or p[20 if ether == 0x86dd else 23] != 17:
                continue
            v6 = ether == 0x86dd
            port = struct.unpack_from("!H", p, 56 if v6 else 36)[0]
            if port == 7009:
                break
            seen.add((port, "IPv6" if v6 else "IPv4", p[21] if v6 else p[22]))
            labels.setdefault((port, v6), set()).add(struct.unpack_from("!I", p, 14)[0] & 0xfffff if v6 else 0)
        print(*sorted(seen), "labels of each:", {len(l) for l in labels.values()}, "in all:",
              len(set.union(*labels.values())), file=out)
    for sink in sinks:
        sink.close()


send(*sys.argv[2:]) if sys.argv[1] == "send" else see(*sys.argv[2:])
