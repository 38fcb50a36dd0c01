# SPDX-License-Identifier: BSD-2-Clause
"""tcp_stalled.py server ADDRESS PORT WHO   a listener of two processes: one accepts and answers, the other waits for
connections once and then never looks again. Both are children, or the one that stalls is a child and the other its
parent (WHO: epoll, poll), which has begun to wait before
tcp_stalled.py client ADDRESS PORT DIR    makes connections from ports whose ACKs the calling test holds back, then
others, until these are answered; then makes DIR/let, after which the first must be answered, too"""
import os
import select
import socket
import sys
import time

from netlib import answered

LATE = range(20000, 20024)
EARLY = 40
PATIENCE_S = 20
PATIENCE = {select.epoll: 0.05, type(select.poll()): 50}


def family(address):
    return socket.AF_INET6 if ":" in address else socket.AF_INET


def made(kind, s):
    p = kind()
    p.register(s, select.EPOLLIN)
    return p


def accept_all(s, ready, once=False):
    while True:
        if not ready.poll(PATIENCE[type(ready)] if once else None) and once:
            return
        try:
            c, _ = s.accept()
        except BlockingIOError:
            continue
        c.setblocking(True)
        c.sendall(b"here")
        c.close()


def stall(s):
    accept_all(s, made(select.epoll, s), once=True)
    print("joined", flush=True)
    time.sleep(600)


def server(address, port, who):
    s = socket.create_server((address, port), family=family(address), backlog=200)
    s.setblocking(False)
    ready = made(select.poll if who == "poll" else select.epoll, s) if who != "children" else None
    if not os.fork():
        stall(s)
    if not ready and os.fork():
        time.sleep(600)
    accept_all(s, ready or made(select.epoll, s))


def begin(address, port, own=0):
    c = socket.socket(family(address), socket.SOCK_STREAM)
    c.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if own:
        c.bind(("", own))
    c.settimeout(PATIENCE_S)
    c.connect((address, port))
    return c


def client(address, port, where):
    late = [begin(address, port, own) for own in LATE]
    early = [begin(address, port) for _ in range(EARLY)]
    print("early", answered(early), flush=True)
    open(where + "/let", "w").close()
    print("late", answered(late), flush=True)


if sys.argv[1] == "server":
    server(sys.argv[2], int(sys.argv[3]), sys.argv[4])
else:
    client(sys.argv[2], int(sys.argv[3]), sys.argv[4])
