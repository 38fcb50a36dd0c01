#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""udp|tcp ADDR PORT N: N datagrams or bytes there and back, compared."""
import hashlib
import socket
import sys


def bytes_of(i, n):
    return (hashlib.sha256(b"%d" % i).digest() * (n // 32 + 1))[:n]


def udp(at, n):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.settimeout(2)
    s.connect(at)
    good = 0
    for i in range(n):
        data = bytes_of(i, 1 + i * 37 % 1400)
        s.send(data)
        try:
            good += s.recv(65536) == data
        except OSError:
            pass
    return good


def tcp(at, n):
    s = socket.create_connection(at, 10)
    data = bytes_of(1, n)
    good = 0
    for i in range(0, n, 20000):
        part = data[i : i + 20000]
        s.sendall(part)
        got = b""
        while len(got) < len(part):
            more = s.recv(65536)
            if not more:
                return good
            got += more
        good += len(part) if got == part else 0
    return good


what, to = sys.argv[1], (sys.argv[2], int(sys.argv[3]))
count = int(sys.argv[4])
print((udp if what == "udp" else tcp)(to, count), "of", count)
