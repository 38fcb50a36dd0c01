# SPDX-License-Identifier: BSD-2-Clause
"""tcp_queued.py server OWN PORT FILE | client PEER PORT: a server that lets connections wait in its queue
until the file is there, and clients that wait there with bytes sent."""
from tcplib import *

faulthandler.cancel_dump_traceback_later()
COUNT, BYTES = 5, 3000


def server(own, port, path):
    ls = tcp(own, port, 100)
    while not os.path.exists(path):
        time.sleep(0.05)
    while True:
        conn, _ = ls.accept()
        conn.sendall(take(conn, BYTES))
        conn.close()


def client(peer, port):
    conns = [tcp(six=is6(peer)) for _ in range(COUNT)]
    for i, s in enumerate(conns):
        s.connect((peer, port))
        s.sendall(bytes([i]) * BYTES)
    say("waiting")
    good = [take(s, BYTES) == bytes([i]) * BYTES for i, s in enumerate(conns)]
    say("answered", good)
    sys.exit(not all(good))


if sys.argv[1] == "server":
    server(sys.argv[2], int(sys.argv[3]), sys.argv[4])
client(sys.argv[2], int(sys.argv[3]))
