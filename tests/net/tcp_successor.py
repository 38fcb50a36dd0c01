# SPDX-License-Identifier: BSD-2-Clause
"""tcp_successor.py server ADDRESS PORT PATH | client ADDRESS PORT PATH: a worker that was forked accepts; then its parent
starts a successor by exec, which has the listener, the worker accepts no more, connections come, the worker ends, and
the successor accepts what waits. The parent stays, and accepts nothing. PATH.* are files by which they wait."""
import os
import select
import socket
import subprocess
import sys
import time

from netlib import hello, text_of

N = 4


def tell(path, what):
    open(f"{path}.{what}", "w").close()


def wait(path, what):
    end = time.time() + 20
    while not os.path.exists(f"{path}.{what}") and time.time() < end:
        time.sleep(0.01)


def serve(ls):
    ls.setblocking(False)
    ep = select.epoll()
    ep.register(ls, select.EPOLLIN)
    n, end = 0, time.time() + 15
    while n < N and time.time() < end:
        if ep.poll(0.1):
            try:
                conn, _ = ls.accept()
            except BlockingIOError:
                continue
            conn.settimeout(5)
            conn.sendall(conn.recv(100))
            conn.close()
            n += 1


def successor(fd, path):
    ls = socket.socket(fileno=fd)
    tell(path, "up")
    wait(path, "ended")
    serve(ls)


def server(address, port, path):
    ls = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET)
    ls.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    ls.bind((address, port))
    ls.listen(64)
    if os.fork() == 0:
        tell(path, "accepts")
        serve(ls)
        wait(path, "up")
        tell(path, "stopped")
        wait(path, "queued")
        os._exit(0)
    wait(path, "stopped_first")
    with subprocess.Popen([sys.executable, __file__, "successor", str(ls.fileno()), path], pass_fds=[ls.fileno()]):
        os.wait()
        tell(path, "gone")
        time.sleep(100)


def client(address, port, path):
    to = (address, port)
    wait(path, "accepts")
    print("before", [text_of(hello(to)) for _ in range(N)])
    tell(path, "stopped_first")
    wait(path, "stopped")
    conns = [hello(to) for _ in range(N)]
    time.sleep(0.3)
    tell(path, "queued")
    wait(path, "gone")
    tell(path, "ended")
    print("queued", [text_of(c) for c in conns])


if sys.argv[1] == "successor":
    successor(int(sys.argv[2]), sys.argv[3])
else:
    {"server": server, "client": client}[sys.argv[1]](sys.argv[2], int(sys.argv[3]), sys.argv[4])
