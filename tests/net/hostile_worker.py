# SPDX-License-Identifier: BSD-2-Clause
"""hostile_worker.py ADDRESS PORT SECONDS: an honest client of hostile_worker.c: for SECONDS, and at least five times,
makes a connection and has its bytes sent back; sends datagrams to both ports.
hostile_worker.py end ADDRESS PORT: ends the server."""
import os
import socket
import sys
import time

LIMIT = 20


def once(to):
    data = os.urandom(20000)
    with socket.create_connection(to, timeout=LIMIT) as s:
        s.sendall(data)
        got = b""
        while len(got) < len(data):
            part = s.recv(65536)
            if not part:
                raise ConnectionError(f"the connection ended after {len(got)} bytes")
            got += part
        assert got == data, "other bytes came back"


def tcp(to):
    """A worker that has the listener can take and reset what it likes, by the kernel's sockets, too."""
    for _ in range(LIMIT):
        try:
            return once(to)
        except ConnectionResetError:
            time.sleep(0.05)
    raise ConnectionError("each connection is reset")


def udp(to):
    data = os.urandom(900)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.settimeout(1)
        s.connect(to)
        for _ in range(LIMIT):  # (one may be lost while the socket goes to the kernel)
            s.send(data)
            try:
                got = s.recv(2000)
            except TimeoutError:
                continue
            assert got == data, "another datagram came back"
            return
        raise TimeoutError(f"no answer from port {to[1]}")


if sys.argv[1] == "end":
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.sendto(b"end", (sys.argv[2], int(sys.argv[3]) + 1))
    sys.exit(0)
host, port = sys.argv[1], int(sys.argv[2])
until = time.monotonic() + float(sys.argv[3])
n = 0
while n < 5 or time.monotonic() < until:
    tcp((host, port))
    udp((host, port))
    udp((host, port + 1))
    n += 1
print("all came back")
