# SPDX-License-Identifier: BSD-2-Clause
"""tcp_stalled.py server ADDRESS PORT       two children with one listener: the one accepts and answers, the other waits for
                                          connections once and then never looks again
tcp_stalled.py client ADDRESS PORT DIR    connections from ports that the caller holds the ACKs of back, then others,
                                          until those are answered; then DIR/let is made, and the first are to be"""
import os
import select
import socket
import sys
import time

LATE = range(20000, 20024)
EARLY = 40


def family(address):
    return socket.AF_INET6 if ":" in address else socket.AF_INET


def accept_all(s, once):
    ep = select.epoll()
    ep.register(s, select.EPOLLIN)
    while True:
        if not ep.poll(0.05 if once else None) and once:
            return
        try:
            c, _ = s.accept()
        except BlockingIOError:
            continue
        c.setblocking(True)
        c.sendall(b"here")
        c.close()


def server(address, port):
    s = socket.create_server((address, port), family=family(address), backlog=200)
    s.setblocking(False)
    if not os.fork():
        accept_all(s, True)
        print("joined", flush=True)
        time.sleep(600)
    if not os.fork():
        accept_all(s, False)
    time.sleep(600)


def begin(address, port, own=0):
    c = socket.socket(family(address), socket.SOCK_STREAM)
    c.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if own:
        c.bind(("", own))
    c.settimeout(20)
    c.connect((address, port))
    return c


def answered(some):
    n = 0
    for c in some:
        try:
            n += c.recv(100) == b"here"
        except OSError as e:
            print(c.getsockname()[1], e, file=sys.stderr)
    return n


def client(address, port, where):
    late = [begin(address, port, own) for own in LATE]
    early = [begin(address, port) for _ in range(EARLY)]
    print("early", answered(early), flush=True)
    open(where + "/let", "w").close()
    print("late", answered(late), flush=True)


if sys.argv[1] == "server":
    server(sys.argv[2], int(sys.argv[3]))
else:
    client(sys.argv[2], int(sys.argv[3]), sys.argv[4])
