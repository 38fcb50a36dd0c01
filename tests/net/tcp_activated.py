# SPDX-License-Identifier: BSD-2-Clause
"""tcp_activated.py server ADDRESS PORT HOW | client ADDRESS PORT: a server (as inetd's "wait", dovecot's and postfix's
masters) waits until its listener is readable, and executes a program that accepts: in a child (HOW: fork), or itself (self),
three connections each time; bare is self with an environment that is empty. What waited at that time is served, too."""
import os
import select
import socket
import sys
import time

N = 3


def accept_all(fd):
    ls = socket.socket(fileno=fd)
    ls.settimeout(10)
    for _ in range(N):
        conn, _ = ls.accept()
        conn.settimeout(10)
        conn.sendall(b"you said " + conn.recv(100))
        conn.close()


def execute(ls, env=os.environ):
    os.execve(sys.executable, [sys.executable, __file__, "accept", str(ls.fileno())], env)


def server(address, port, how):
    ls = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET)
    ls.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    ls.bind((address, port))
    ls.listen(64)
    ls.set_inheritable(True)
    waits = select.poll()
    waits.register(ls, select.POLLIN)
    while True:
        waits.poll()
        time.sleep(0.3)  # all three wait
        if how != "fork":
            execute(ls, {} if how == "bare" else os.environ)
        if os.fork() == 0:
            execute(ls)
        os.wait()


def answer(conn):
    try:
        return conn.recv(100).decode() or "EOF"
    except OSError as e:
        return str(e)


def client(address, port):
    conns = [socket.create_connection((address, port), timeout=20) for _ in range(N)]
    for i, conn in enumerate(conns):
        conn.sendall(b"%d" % i)
    print([answer(conn) for conn in conns])


if sys.argv[1] == "accept":
    accept_all(int(sys.argv[2]))
elif sys.argv[1] == "server":
    server(sys.argv[2], int(sys.argv[3]), sys.argv[4])
else:
    client(sys.argv[2], int(sys.argv[3]))
