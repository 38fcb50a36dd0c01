# SPDX-License-Identifier: BSD-2-Clause
"""pmtu_learnt.py tell OWN PEER MTU: has the kernel of this host learn a path's MTU, by a report about a datagram of its own.
pmtu_learnt.py ask PEER PORT: what a connection to that peer begins with. pmtu_learnt.py both OWN PEER PORT MTU: the same
before and after, in one process; the library asks the kernel again after a second."""
import socket
import struct
import sys
import time

from inetsum import checksum

TCPI_PMTU = 60  # offset in struct tcp_info


def tell(own, peer, mtu):
    """The report that a router would send, to our own address: the kernel looks at what it quotes."""
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.bind((own, 0))
    s.connect((peer, 9))
    udp = struct.pack("!HHHH", s.getsockname()[1], 9, 1408, 0)
    ip = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 1428, 1, 0x4000, 64, 17, 0, socket.inet_aton(own), socket.inet_aton(peer))
    ip = ip[:10] + struct.pack("!H", checksum(ip)) + ip[12:]
    icmp = struct.pack("!BBHHH", 3, 4, 0, 0, mtu) + ip + udp
    icmp = icmp[:2] + struct.pack("!H", checksum(icmp)) + icmp[4:]
    raw = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
    raw.sendto(icmp, (own, 0))


def ask(peer, port):
    with socket.create_connection((peer, port), timeout=10) as s:
        info = s.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 104)
        return struct.unpack_from("I", info, TCPI_PMTU)[0], s.getsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG)


def say(path, segment):
    print("path MTU", path, "segment", segment)


def both(own, peer, port, mtu):
    say(*ask(peer, port))
    tell(own, peer, mtu)
    end = time.monotonic() + 10
    while ask(peer, port)[0] != mtu and time.monotonic() < end:
        time.sleep(0.1)
    say(*ask(peer, port))


if sys.argv[1] == "tell":
    tell(sys.argv[2], sys.argv[3], int(sys.argv[4]))
elif sys.argv[1] == "ask":
    say(*ask(sys.argv[2], int(sys.argv[3])))
else:
    both(sys.argv[2], sys.argv[3], int(sys.argv[4]), int(sys.argv[5]))
