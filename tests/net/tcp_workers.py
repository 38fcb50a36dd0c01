# SPDX-License-Identifier: BSD-2-Clause
"""tcp_workers.py server ADDRESS PORT WORKERS one|each|poll: a listener (or one for each worker, by
SO_REUSEPORT), from which forked workers accept. Each echoes, with its own PID and the parent's in front. SIGUSR1 to
the parent: one more worker; SIGUSR2 to a worker: it closes the listener, and serves the connections that it has.
"wait PATH" makes a worker create PATH and do nothing else as long as PATH exists.
tcp_workers.py client ADDRESS PORT WORKERS HOW: checks that connections come to all workers, that they stay where they
are while workers come and go, and that none is reset or waits but those of a killed worker.
tcp_workers.py few ADDRESS PORT: 8 connections. tcp_workers.py nap ADDRESS PORT: at the end of a worker's pause 16
connections come at once, and wait for a moment.
tcp_workers.py children ADDRESS PORT: accepts, and a child answers. tcp_workers.py connect ADDRESS PORT: 20 times."""
import os
import selectors
import signal
import socket
import sys
import tempfile
import time


def say(*what):
    print(*what, flush=True)


def listener(address, port, each):
    s = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if each:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    s.bind((address, port))
    s.listen(512)
    s.setblocking(False)
    return s


def worker(s, others, how):
    signal.signal(signal.SIGUSR1, signal.SIG_DFL)
    for o in others:
        if o is not s:
            o.close()
    sel = selectors.PollSelector() if how == "poll" else selectors.EpollSelector()
    sel.register(s, selectors.EVENT_READ)
    leave = []
    signal.signal(signal.SIGUSR2, lambda *_: leave.append(1))
    me = b"%d %d open " % (os.getpid(), os.getppid())
    while b" %d " % os.getppid() in me:
        for key, _ in sel.select(0.5):
            if key.fileobj is s:
                try:
                    c = s.accept()[0]
                except BlockingIOError:
                    continue
                c.setblocking(False)
                sel.register(c, selectors.EVENT_READ)
                continue
            c = key.fileobj
            try:
                d = c.recv(65536)
            except BlockingIOError:
                continue
            except OSError:
                d = b""
            if d.startswith(b"wait "):
                os.close(os.open(d[5:], os.O_CREAT | os.O_WRONLY))
                while os.path.exists(d[5:]):
                    time.sleep(0.01)
            elif d:
                time.sleep(1.28 * d.startswith(b"nap"))
                c.send(me + d)
            else:
                sel.unregister(c)
                c.close()
        if leave:
            leave.clear()
            sel.unregister(s)
            s.close()
            me = me.replace(b"open", b"closed")


def server(address, port, n, how):
    each = how == "each"
    listeners = [listener(address, port, each) for _ in range(n if each else 1)]
    wanted = list(range(n))
    signal.signal(signal.SIGUSR1, lambda *_: wanted.append(0))
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1, signal.SIGCHLD])
    while True:
        while wanted:
            s = listeners[wanted.pop(0) % len(listeners)]
            if os.fork() == 0:
                signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGUSR1, signal.SIGCHLD])
                worker(s, listeners, how)
                os._exit(0)
        if signal.sigwait([signal.SIGUSR1, signal.SIGCHLD]) == signal.SIGUSR1:
            wanted.append(0)


def for_children(address, port):
    """Accepts, and forks a child for each connection, which answers once."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    s = listener(address, port, False)
    s.setblocking(True)
    while True:
        c = s.accept()[0]
        if os.fork() == 0:
            s.close()
            d = c.recv(100)
            c.sendall(b"%d %d open " % (os.getpid(), os.getppid()) + d)
            c.recv(100)
            os._exit(0)
        c.close()


class Conn:
    def __init__(self, to, wait=True):
        if wait:
            self.s = socket.create_connection(to, timeout=20)
            self.pid = self.ask()
            return
        self.s = socket.socket(socket.AF_INET6 if ":" in to[0] else socket.AF_INET)
        self.s.setblocking(False)
        self.s.connect_ex(to)
        self.s.settimeout(20)

    def ask(self):
        self.s.sendall(b"who")
        return self.answer()

    def answer(self):
        d = b""
        while not d.endswith(b"who"):
            part = self.s.recv(100)
            if not part:
                raise EOFError("the connection has ended")
            d += part
        pid, self.parent, self.listener, _ = d.split()
        self.parent = int(self.parent)
        return int(pid)


def pids(conns):
    return {c.pid for c in conns}


def stay(what, conns):
    for c in conns:
        assert c.ask() == c.pid
    say(what, "all are where they were")


def client(address, port, n, how):
    to = (address, port)
    spread = os.environ.get("SPREAD")
    conns = [Conn(to) for _ in range(20)]
    # Workers come one by one.
    end = time.monotonic() + 20
    while spread and len(pids(conns)) < n and time.monotonic() < end:
        conns.append(Conn(to))
    conns = conns[-80:]
    assert not spread or len(pids(conns)) == n, pids(conns)
    stay("first", conns)
    # Another worker.
    before = pids(conns)
    os.kill(conns[0].parent, signal.SIGUSR1)
    end = time.monotonic() + (20 if spread else 0.3)
    more = []
    while not pids(more) - before and time.monotonic() < end:
        more = more[-100:] + [Conn(to)]
    assert not spread or pids(more) - before
    conns += more
    stay("one more", conns)
    if how != "each":
        come_and_go(to, conns, spread)


def nap(to):
    conns = [Conn(to)]
    conns[0].s.sendall(b"napwho")
    time.sleep(1.2)
    conns += [Conn(to, False) for _ in range(16)]
    conns[0].answer()
    for c in conns:
        c.pid = c.ask()
    stay("after a nap", conns)


def come_and_go(to, conns, spread):
    # A worker is busy: others serve the connections queued for it.
    path = tempfile.mktemp(dir=os.environ["TMP"])
    conns[0].s.sendall(b"wait " + path.encode())
    while not os.path.exists(path):
        time.sleep(0.01)
    more = [Conn(to) for _ in range(20)]
    assert conns[0].pid not in pids(more)
    stay("one has no time", more)
    os.unlink(path)
    conns += more
    stay("it has time again", conns)
    # A worker is stopped (SIGSTOP): others serve new connections.
    stopped = next((c.pid for c in conns if c.pid != conns[0].pid), conns[0].pid)
    os.kill(stopped, signal.SIGSTOP)
    more = [Conn(to) for _ in range(20)]
    assert stopped not in pids(more)
    stay("one is stopped", more)
    os.kill(stopped, signal.SIGCONT)
    conns += more
    stay("it goes on", conns)
    end = time.monotonic() + 20
    while spread and stopped not in pids(more) and time.monotonic() < end:
        more = more[-100:] + [Conn(to)]
    assert not spread or stopped in pids(more), "it gets no new one"
    # A worker closes the listener.
    gone = conns[0].pid
    os.kill(gone, signal.SIGUSR2)
    while conns[0].listener != b"closed":
        conns[0].ask()
    more = [Conn(to) for _ in range(60)]
    assert gone not in pids(more)
    stay("one leaves", conns + more)
    conns += more
    # A worker is killed, and its connections end.
    dead = next((c.pid for c in conns if c.pid != gone), None)
    if dead: # (the kernel may have given all to the same worker)
        os.kill(dead, signal.SIGKILL)
    for c in conns:
        if c.pid == dead:
            try:
                assert not c.s.recv(1)
            except ConnectionError:
                pass
    conns[:] = [c for c in conns if c.pid != dead]
    if not pids(conns) - {gone}:
        os.kill(conns[0].parent, signal.SIGUSR1)
    more = [Conn(to) for _ in range(60)]
    assert dead not in pids(more)
    conns += more
    stay("one is killed", conns)
    # And another comes in its place.
    os.kill(conns[0].parent, signal.SIGUSR1)
    conns += [Conn(to) for _ in range(60)]
    stay("another comes", conns)


if sys.argv[1] == "children":
    for_children(sys.argv[2], int(sys.argv[3]))
elif sys.argv[1] == "connect":
    assert len(pids([Conn((sys.argv[2], int(sys.argv[3]))) for _ in range(20)])) == 20
elif sys.argv[1] == "few":
    stay("a few", [Conn((sys.argv[2], int(sys.argv[3]))) for _ in range(8)])
elif sys.argv[1] == "nap":
    nap((sys.argv[2], int(sys.argv[3])))
elif sys.argv[1] == "server":
    server(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), sys.argv[5])
else:
    client(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), sys.argv[5])
