# SPDX-License-Identifier: BSD-2-Clause
"""tcp_forked.py ADDRESS PORT TIMES TURNS BYTES: the peer sends all bytes back, in both directions at once and in
pieces of any size; before that in turns, to make many calls."""
import random
import socket
import sys
import threading

address, port, times, turns, size = sys.argv[1], *map(int, sys.argv[2:6])


def receive(s, n):
    d = b""
    while len(d) < n:
        part = s.recv(min(n - len(d), 65536))
        if not part:
            raise EOFError(f"the connection ended after {len(d)} of {n} bytes")
        d += part
    return d


def send(s, d, rnd):
    at = 0
    while at < len(d):
        n = rnd.randrange(1, 30000)
        s.sendall(d[at:at + n])
        at += n


def run(seed):
    rnd = random.Random(seed)
    s = socket.create_connection((address, port), timeout=60)
    s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    for i in range(turns):
        d = rnd.randbytes(4096 if i % 2 else 4096 * rnd.randrange(1, 4))
        s.sendall(d)
        assert receive(s, len(d)) == d, f"turn {i}"
    d = rnd.randbytes(size)
    t = threading.Thread(target=send, args=(s, d, rnd))
    t.start()
    got = receive(s, len(d))
    t.join()
    assert got == d, "bytes"
    s.shutdown(socket.SHUT_WR)
    assert s.recv(1) == b"", "the end"


for i in range(times):
    run(i)
print(times, "times", size, "bytes")
