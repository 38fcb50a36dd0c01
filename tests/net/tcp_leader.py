# SPDX-License-Identifier: BSD-2-Clause
"""tcp_leader.py server OWN PORT | client PEER PORT: a thread for each connection, two in epoll_wait and two in
recv. One is kept busy by its client, then holds still until another is told to release it: the others must be served
meanwhile, whichever thread took their packets before."""
from tcplib import *

faulthandler.cancel_dump_traceback_later()
THREADS, ROUNDS, BUSY = 4, 2, 0.3
released = threading.Event()


def serve(conn, epolls):
    ep = select.epoll()
    ep.register(conn.fileno(), select.EPOLLIN)
    while True:
        if epolls:
            ep.poll()
        said = conn.recv(1)
        if said == b"h":
            released.wait()
            released.clear()
        elif said == b"r":
            released.set()
        elif not said:
            return
        conn.sendall(said)


def server(own, port):
    ls = tcp(own, port, 100)
    while True:
        threads = [threading.Thread(target=serve, args=(ls.accept()[0], i % 2)) for i in range(THREADS)]
        for t in threads:
            t.start()


def ask(conn, what):
    conn.sendall(what)
    return take(conn, 1) == what


def client(peer, port):
    conns = [tcp(six=is6(peer)) for _ in range(THREADS)]
    for s in conns:
        s.connect((peer, port))
        s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        s.settimeout(30)
    good = True
    for i in range(ROUNDS * THREADS):
        busy, *others = conns[i % THREADS:] + conns[:i % THREADS]
        end = time.monotonic() + BUSY
        while good and time.monotonic() < end:
            good = ask(busy, b"p")
        busy.sendall(b"h")
        good &= all(ask(s, b"p") for _ in range(3) for s in others)
        good &= ask(others[-1], b"r") and take(busy, 1) == b"h"
    say("served", good)
    sys.exit(not good)


if sys.argv[1] == "server":
    server(sys.argv[2], int(sys.argv[3]))
client(sys.argv[2], int(sys.argv[3]))
