# SPDX-License-Identifier: BSD-2-Clause
"""tcp_early.py server ADDRESS PORT PATH WHO  a listener; when the file PATH exists, two children are forked and wait
for connections (WHO: epoll, poll, select; parent: the parent, too; set: by the set
                                           that it has made; blocks: by epoll on a listener that blocks), and answer them
tcp_early.py client ADDRESS PORT PATH     connects before the fork, right after it, and when the children wait"""
import os
import select
import socket
import sys
import time

from netlib import answered

EACH = 10
PATIENCE_S = 20


class Select:
    def register(self, s, _):
        self.s = s

    def poll(self):
        select.select([self.s], [], [])


KIND = {"poll": select.poll, "select": Select}


def made(kind, s):
    p = kind()
    p.register(s, select.EPOLLIN)
    return p


def serve(s, ready):
    while True:
        ready.poll()
        try:
            c, _ = s.accept()
        except BlockingIOError:
            continue
        c.setblocking(True)
        c.sendall(b"here")
        c.close()


def server(address, port, path, who):
    s = socket.create_server((address, port), backlog=200, family=socket.AF_INET6 if ":" in address else socket.AF_INET)
    s.setblocking(who == "blocks")
    ready = made(select.epoll, s) if who in ("parent", "set") else None
    while not os.path.exists(path):
        time.sleep(0.02)
    parent = os.fork() and os.fork()
    if parent and who != "parent":
        time.sleep(600)
    inherited = ready if parent or who == "set" else None
    serve(s, inherited or made(KIND.get(who, select.epoll), s))


def begin(address, port):
    return [socket.create_connection((address, port), timeout=PATIENCE_S) for _ in range(EACH)]


def client(address, port, path):
    early = begin(address, port)
    time.sleep(0.2)
    open(path, "w").close()
    between = begin(address, port)
    print("early", answered(early), "between", answered(between), flush=True)
    print("late", answered(begin(address, port)), flush=True)


if sys.argv[1] == "server":
    server(sys.argv[2], int(sys.argv[3]), sys.argv[4], sys.argv[5])
else:
    client(sys.argv[2], int(sys.argv[3]), sys.argv[4])
