# SPDX-License-Identifier: BSD-2-Clause
"""tcp_fork_ended.py [serve] PEER PORT: sockets without a connection (ended, or never begun) are closed while a child
has them, too; and a child reads the rest of a connection that has ended."""

import faulthandler
import os
import select
import socket
import struct
import sys
import time

from tcplib import disconnect

PEER, PORT = sys.argv[-2], int(sys.argv[-1])


def serve():
    listener = socket.create_server((PEER, PORT), family=tcp().family)
    held = []
    while True:
        c = listener.accept()[0]
        try:
            word = c.recv(1)
            if word == b"k":
                held.append(c)
                continue
            if word in (b"r", b"o"):
                c.sendall(b"unread")
            if word == b"r":
                c.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            elif word == b"o":
                c.shutdown(socket.SHUT_WR)
                c.recv(1)
        except ConnectionResetError:
            pass
        c.close()


def tcp():
    return socket.socket(socket.AF_INET6 if ":" in PEER else socket.AF_INET, socket.SOCK_STREAM)


def refused(s):
    try:
        s.connect((PEER, 1))
    except ConnectionRefusedError:
        pass


def dissolved(s):
    s.connect((PEER, PORT))
    disconnect(s)


def over(s):
    s.connect((PEER, PORT))
    s.shutdown(socket.SHUT_WR)
    s.recv(1)


def end(prepare, name, first):
    s, other = tcp(), tcp()  # (one that the process keeps using beside its child)
    other.connect((PEER, PORT))
    other.sendall(b"k")
    prepare(s)
    ready, go = os.pipe()
    pid = os.fork()
    if not pid:
        os.close(go)
        os.read(ready, 1)
        os._exit(0)
    end = {"close": s.close, "dup2": lambda: os.dup2(other.fileno(), s.fileno())}[name]
    if first:
        end()
    os.close(go)
    os.close(ready)
    os.waitpid(pid, 0)
    if not first:
        end()
    print(name, prepare.__name__, other.send(b"k"), flush=True)


def use(s):
    """What three reads and a write give."""
    for call in [lambda: s.recv(100)] * 3 + [lambda: s.send(b"x")]:
        try:
            yield call()
        except OSError as e:
            yield e.strerror


def rest(word):
    """A child reads the rest of a connection that has ended by a reset ("r") or in order ("o")."""
    s = tcp()
    s.connect((PEER, PORT))
    s.sendall(word)
    poll = select.poll()
    poll.register(s, select.POLLRDHUP)
    poll.poll(10000)
    if word == b"o":
        s.shutdown(socket.SHUT_WR)
    while s.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)[0] != 7:  # TCP_CLOSE
        time.sleep(0.005)
    pid = os.fork()
    if not pid:
        print("rest", word, *use(s), flush=True)
        os._exit(0)
    os.waitpid(pid, 0)
    s.close()


if sys.argv[1] == "serve":
    faulthandler.cancel_dump_traceback_later()
    serve()
for prepare in refused, dissolved, over:
    for first in True, False:
        end(prepare, "close", first)
        end(prepare, "dup2", first)
for word in b"r", b"o":
    rest(word)
