# SPDX-License-Identifier: BSD-2-Clause
"""uring_accept.py ADDRESS PORT FILE N: N connections that wait before FILE exists, and one that comes later; without
the later one if FILE is empty."""
import socket
import sys
import time

address, port, path, n = sys.argv[1], int(sys.argv[2]), sys.argv[3], int(sys.argv[4])


def connect(i):
    conn = socket.create_connection((address, port), timeout=15)
    conn.sendall(b"hello %d" % i)
    return conn


def answer(conn):
    try:
        return conn.recv(100).decode() or "EOF"
    except OSError as e:
        return str(e)


conns = [connect(i) for i in range(n)]
if path:
    time.sleep(0.2)
    open(path, "w").close()
print([answer(c) for c in conns], path and answer(connect(n)))
