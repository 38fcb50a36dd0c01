# SPDX-License-Identifier: BSD-2-Clause
"""server ADDRESS PORT: answers a byte and closes first, so that TIME_WAIT is on its side.
client ADDRESS PORT COUNT [FIRST [COUNT FIRST]]: connects from one port after the other, the same ones in each run (FIRST
0: from the ports that are chosen for it); once more at the end of its input. Prints how many connections it made a second, and how many connect() calls took longer than
LATE."""
import socket
import sys
import time

LATE = 0.004
FAMILY = socket.AF_INET6 if ":" in sys.argv[2] else socket.AF_INET


def server(where):
    listener = socket.create_server(where, family=FAMILY, backlog=128)
    while True:
        with listener.accept()[0] as s:
            s.recv(1)
            s.send(b"x")


def client(where, count, first=20000, *later):
    late, begin = 0, 0.0
    for i in range(count + 1):
        with socket.socket(FAMILY) as s:
            if first:
                s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                s.bind(("", first + i))
            before = time.monotonic()
            s.connect(where)
            late += i > 0 and time.monotonic() - before > LATE
            s.send(b"a")
            assert s.recv(1) == b"x" and s.recv(1) == b""
        begin = begin or time.monotonic()  # (the first connection starts the library)
    print(round(count / (time.monotonic() - begin)), late, flush=True)
    if later:
        sys.stdin.read()
        client(where, *later)


where = (sys.argv[2], int(sys.argv[3]))
if sys.argv[1] == "server":
    server(where)
else:
    client(where, *map(int, sys.argv[4:]))
