# SPDX-License-Identifier: BSD-2-Clause
"""tcp_prefork.py server ADDRESS PORT WORKERS [PATH HOW]: a listener that blocks, and forked workers that block in
accept() and serve one connection at a time, as Apache's do: they echo, and answer "who" with their PID. A dead worker
is replaced. With PATH they begin to accept when that file exists; before that, when PATH.wait exists, the parent does
HOW:
stay, close (the listener), exit, exec.
tcp_prefork.py client ADDRESS PORT WORKERS: connections go to the same workers as in the kernel: to one that is free,
or else to the first that becomes free.
tcp_prefork.py late ADDRESS PORT WORKERS PATH: connections that came before any worker accepted are served."""
import ctypes
import os
import random
import signal
import socket
import sys
import threading
import time

prctl = ctypes.CDLL(None).prctl
PR_SET_PDEATHSIG = 1
TURNS = 1200
SIZE = 1 << 20


def worker(s, path, parent):
    while path and not os.path.exists(path) and os.getppid() == parent:
        time.sleep(0.01)
    while True:
        c = s.accept()[0]
        while True:
            try:
                d = c.recv(65536)
            except ConnectionError:
                break
            if not d:
                break
            c.sendall(b"%d " % os.getpid() if d == b"who" else d)
        c.close()


def leave(s, path, how):
    while not os.path.exists(path + ".wait"):
        time.sleep(0.01)
    if how == "exit":
        sys.exit(0)
    if how == "close":
        s.close()
    go = f"open({path!r}, 'w').close()"
    if how == "exec":
        os.execv(sys.executable, [sys.executable, "-c", f"{go}; import time; time.sleep(100)"])
    exec(go)


def server(address, port, n, path, how):
    s = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    s.bind((address, port))
    s.listen(64)
    parent = os.getpid()
    workers = set()
    while True:
        while len(workers) < n:
            pid = os.fork()
            if pid == 0:
                if how != "exit":
                    prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
                worker(s, path, parent)
            workers.add(pid)
        if how:
            leave(s, path, how)
            how = None
        workers.discard(os.wait()[0])


class Conn:
    def __init__(self, to, asks=True):
        self.s = socket.create_connection(to, timeout=30)
        self.s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.pid = self.who() if asks else None

    def who(self):
        self.s.sendall(b"who")
        return self.answer()

    def answer(self):
        d = b""
        while not d.endswith(b" "):
            part = self.s.recv(100)
            if not part:
                raise EOFError("the connection has ended")
            d += part
        return int(d)

    def waits(self):
        self.s.settimeout(0.3)
        try:
            return not self.s.recv(1)
        except TimeoutError:
            return True
        finally:
            self.s.settimeout(30)

    def much(self, seed):
        rnd = random.Random(seed)
        for i in range(TURNS):
            d = rnd.randbytes(rnd.randrange(10, 3000))
            self.s.sendall(d)
            assert self.receive(len(d)) == d, f"turn {i}"
        d = rnd.randbytes(SIZE)
        t = threading.Thread(target=self.s.sendall, args=(d,))
        t.start()
        assert self.receive(SIZE) == d, "bytes"
        t.join()

    def receive(self, n):
        d = bytearray()
        while len(d) < n:
            part = self.s.recv(min(n - len(d), 65536))
            if not part:
                raise EOFError(f"the connection ended after {len(d)} of {n} bytes")
            d += part
        return d


def pids(conns):
    return {c.pid for c in conns}


def close(c):
    c.s.shutdown(socket.SHUT_WR)
    assert c.s.recv(1) == b"", "the end"
    c.s.close()


def client(to, n):
    conns = [Conn(to) for _ in range(n)]
    assert len(pids(conns)) == n, pids(conns)
    print("each has one")
    more = Conn(to, False)
    more.s.sendall(b"who")
    assert more.waits()
    first = conns.pop(0)
    close(first)
    assert more.answer() == first.pid
    print("who waits is served by the first who is free")
    conns.append(more)
    more.pid = first.pid
    jobs = [threading.Thread(target=c.much, args=(i,)) for i, c in enumerate(conns)]
    for j in jobs:
        j.start()
    for j in jobs:
        j.join()
    for c in conns:
        assert c.who() == c.pid
    print(n, "times", TURNS, "turns and", SIZE, "bytes")
    free = conns.pop(0)
    close(free)
    for _ in range(50):
        c = Conn(to)
        assert c.pid == free.pid
        close(c)
    print("who is free serves all")
    # (At once: its last bytes are not acknowledged yet.)
    for _ in range(5):
        dead = conns.pop(0)
        dead.who()
        os.kill(dead.pid, signal.SIGKILL)
        try:
            assert not dead.s.recv(1)
        except ConnectionError:
            pass
        conns.append(Conn(to))
        assert dead.pid not in pids(conns)
    print("who was killed is missed")
    dead = conns.pop(0)
    os.kill(dead.pid, signal.SIGKILL)
    try:
        assert not dead.s.recv(1)
    except ConnectionError:
        pass
    more = [Conn(to), Conn(to)]
    assert dead.pid not in pids(more) and len(pids(conns + more)) == n
    more[1].much(99)
    for c in conns + more:
        assert c.who() == c.pid
    print("another comes for one who was killed")


def late(to, n, path):
    conns = [Conn(to, False) for _ in range(n)]
    for c in conns:
        c.s.sendall(b"who")
    time.sleep(0.1) # (what was sent has come)
    open(path + ".wait", "w").close()
    for c in conns:
        c.pid = c.answer()
    print(len(pids(conns)), "were served")


if sys.argv[1] == "server":
    server(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), *(sys.argv[5:] or (None, None)))
elif sys.argv[1] == "late":
    late((sys.argv[2], int(sys.argv[3])), int(sys.argv[4]), sys.argv[5])
else:
    client((sys.argv[2], int(sys.argv[3])), int(sys.argv[4]))
