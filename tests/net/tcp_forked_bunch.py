# SPDX-License-Identifier: BSD-2-Clause
"""tcp_forked_bunch.py server|client ADDRESS FIRST_PORT PORTS: an echo server that forks a child for each connection, as
sshd does; and its clients: to each port a few one after the other, then a bunch at once."""
import os
import select
import signal
import socket
import sys
import threading

role, address, first, ports = sys.argv[1], sys.argv[2], *map(int, sys.argv[3:5])
FEW, BUNCH, BUNCHES = 5, 6, 2


def serve():
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    poll = select.poll()
    listeners = {}
    for port in range(first, first + ports):
        s = socket.create_server((address, port), family=socket.AF_INET6, backlog=64)
        listeners[s.fileno()] = s
        poll.register(s, select.POLLIN)
    while True:
        for fd, _ in poll.poll():
            c, _ = listeners[fd].accept()
            if os.fork() == 0:
                for n in range(3, 64):  # every number is free for the child to use
                    if n != c.fileno():
                        os.dup2(c.fileno(), n)
                c.sendall(c.recv(100))
                os._exit(0)
            c.close()


failed = []


def ask(port, n):
    try:
        with socket.create_connection((address, port), timeout=20) as c:
            c.sendall(b"%d" % n)
            if c.recv(100) != b"%d" % n:
                failed.append(f"port {port}: ended")
    except OSError as e:
        failed.append(f"port {port}: {e}")


def bunch(port):
    threads = [threading.Thread(target=ask, args=(port, n)) for n in range(BUNCH)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()


if role == "server":
    serve()
for port in range(first, first + ports):
    for n in range(FEW):
        ask(port, n)
    for _ in range(BUNCHES):
        bunch(port)
print("failed:", *failed or ["none"], sep="\n")
