# SPDX-License-Identifier: BSD-2-Clause
"""A server of several threads that nothing comes to.

server ADDRESS PORT THREADS: thread N listens on PORT + N with an epoll set of its own. When all connections are there it
echoes what each of them says, once, and waits most of a second at a time, each at
other times than the others. Prints "wakes", how often threads of the process have
run in SECONDS seconds of that, and "ms", how long; then waits for what ends it.
client ADDRESS PORT THREADS: makes CONNS connections to each thread, and says something on each of them, to the last
thread again and again, so that packets come while the others sleep; then leaves them alone until the server has printed
(the end of standard input), and says on each that it is the end."""
import glob
import select
import socket
import sys
import threading
import time

from own_core import alone

CONNS = 10
SECONDS = 2
BURST = 300
said = threading.Barrier(int(sys.argv[4]) + 1)


def used():
    """Runs and nanoseconds of all threads of the process."""
    runs = ns = 0
    for path in glob.glob("/proc/self/task/*/schedstat"):
        with open(path, encoding="ascii") as f:
            fields = f.read().split()
        ns, runs = ns + int(fields[0]), runs + int(fields[2])
    return runs, ns


def worker(where, wait):
    alone()
    listener = socket.create_server(where)
    ep, conns, left, echoed = select.epoll(), {}, CONNS, 0
    ep.register(listener, select.EPOLLIN)
    while left:
        for fd, _ in ep.poll(wait):
            if fd == listener.fileno():
                s = listener.accept()[0]
                conns[s.fileno()] = s
                ep.register(s, select.EPOLLIN)
                continue
            data = conns[fd].recv(100)
            left -= data == b"end"
            if data == b"question":
                conns[fd].send(data)
                echoed += 1
                if echoed == CONNS:
                    said.wait()
            elif data == b"more":
                conns[fd].send(data)


def server(address, port, n):
    threads = [threading.Thread(target=worker, args=((address, port + i), 0.7 + i * 0.1)) for i in range(n)]
    for t in threads:
        t.start()
    said.wait()
    time.sleep(0.5)
    runs, ns = used()
    time.sleep(SECONDS)
    now = used()
    print("wakes", now[0] - runs)
    print("ms", round((now[1] - ns) / 1e6), flush=True)
    for t in threads:
        t.join()


def client(address, port, n):
    conns = [socket.create_connection((address, port + i % n)) for i in range(CONNS * n)]
    for s in conns:
        s.send(b"question")
        assert s.recv(100) == b"question"
    for _ in range(BURST):
        conns[-1].send(b"more")
        assert conns[-1].recv(100) == b"more"
    sys.stdin.read()
    for s in conns:
        s.send(b"end")


{"server": server, "client": client}[sys.argv[1]](sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
