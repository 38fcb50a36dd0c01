# SPDX-License-Identifier: BSD-2-Clause
"""Two short writes in a row, then the program does something else for AWAY seconds.

server ADDRESS PORT ROUNDS: prints "late N": in how many rounds the second write came after more than half of AWAY.
client ADDRESS PORT ROUNDS sleep|compute|poll"""

import select
import socket
import sys
import time

AWAY = 0.3


def server(listener, rounds):
    late = 0
    for _ in range(rounds):
        s = listener.accept()[0]
        s.recv(1)
        began = time.monotonic()
        s.recv(1)
        late += time.monotonic() - began > AWAY / 2
        s.recv(1)
        s.close()
    print("late", late, flush=True)


def away(s, how):
    end = time.monotonic() + AWAY
    if how == "sleep":
        time.sleep(AWAY)
    elif how == "poll":
        select.select([s], [], [], AWAY)
    while time.monotonic() < end:
        pass


def client(address, rounds, how):
    for _ in range(rounds):
        s = socket.create_connection(address)
        s.send(b"a")
        s.send(b"b")
        away(s, how)
        s.send(b"c")
        s.recv(1)
        s.close()


where = (sys.argv[2], int(sys.argv[3]))
if sys.argv[1] == "server":
    family = socket.AF_INET6 if ":" in where[0] else socket.AF_INET
    server(socket.create_server(where, family=family), int(sys.argv[4]))
else:
    client(where, int(sys.argv[4]), sys.argv[5])
