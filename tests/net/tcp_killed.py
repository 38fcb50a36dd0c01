# SPDX-License-Identifier: BSD-2-Clause
"""Workers of one listener that are killed while connections wait for them.

  tcp_killed.py queue OWN PORT DEFER one worker, which is killed while connections wait in it; the next worker answers
  them
  tcp_killed.py wait PEER PORT PID   the connections that wait: prints what each is answered
  tcp_killed.py shake PEER PORT PID NETNS DEVICE
                                     of a listener with TCP_DEFER_ACCEPT: clients that have finished the handshake and
                                     sent no data yet; and one that has not got the SYN-ACK, which NETNS drops
  tcp_killed.py storm OWN PORT DIR   workers, one of which is killed again and again
  tcp_killed.py clients PEER PORT DIR SECONDS
                                     a connection that is reset must have been accepted by a worker that died

A worker writes each connection that it has accepted into DIR/accepted, and marks in a byte of DIR/busy that it is
about to: so at most one of its clients is not in the list when it is killed."""
import errno
import fcntl
import mmap
import os
import random
import select
import selectors
import signal
import socket
import struct
import subprocess
import sys
import termios
import threading
import time

WORKERS = 4
SLOTS = 4096
STOP = "stop"


def say(*what):
    print(*what, flush=True)


def listener(own, port):
    v6 = own == "::" or ":" in own
    s = socket.socket(socket.AF_INET6 if v6 else socket.AF_INET)
    if own == "::":
        s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    s.bind((own, port))
    s.listen(512)
    s.setblocking(False)
    return s


def take(c, n):
    data = b""
    while len(data) < n:
        part = c.recv(n - len(data))
        if not part:
            break
        data += part
    return data


# Waiting clients --------------------------------------------------------------------------------

KINDS = ["late", "short", "long", "closed", "unread"]
LONG = 40000


def request(kind, i):
    body = bytes([65 + i]) * {"late": 100, "short": 7 + i, "long": LONG, "closed": 3000, "unread": 5000}[kind]
    return struct.pack("!BI", KINDS.index(kind), len(body)) + body


def serve(c):
    """Sends back what came, and whether the socket is offloaded."""
    c.setblocking(True)
    c.settimeout(20)
    head = take(c, 5)
    kind, n = struct.unpack("!BI", head)
    if KINDS[kind] == "unread":
        c.close()
        return
    body = take(c, n)
    six = c.family == socket.AF_INET6
    opts = [c.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE), c.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)]
    peer = c.getpeername()[0]
    eof = KINDS[kind] == "closed" and c.recv(1) == b""
    c.sendall(repr([len(body), len(set(body)), six, opts, peer, eof]).encode())
    c.close()


def queue_worker(s, first):
    sel = selectors.EpollSelector()
    sel.register(s, selectors.EVENT_READ)
    while True:
        sel.select()
        try:
            c = s.accept()[0]
        except BlockingIOError:
            continue
        if first:
            take(c, 1)  # from here on the worker is busy
            c.sendall(b"+")
            time.sleep(60)
        serve(c)


def queue(own, port, defer):
    s = listener(own, port)
    if defer:
        s.setsockopt(socket.IPPROTO_TCP, socket.TCP_DEFER_ACCEPT, defer)
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1, signal.SIGTERM])
    pid = os.fork()
    if pid == 0:
        queue_worker(s, True)
    if signal.sigwait([signal.SIGUSR1, signal.SIGTERM]) == signal.SIGUSR1:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        time.sleep(0.1)
        pid = os.fork()
        if pid == 0:
            queue_worker(s, False)
        signal.sigwait([signal.SIGTERM])
    os.kill(pid, signal.SIGKILL)


def all_arrived(conns):
    return not any(struct.unpack("i", fcntl.ioctl(c, termios.TIOCOUTQ, bytes(4)))[0] for _, _, c in conns)


def wait(peer, port, pid):
    busy = socket.create_connection((peer, port), timeout=20)
    busy.sendall(b"?")
    assert take(busy, 1) == b"+"
    start = time.monotonic()
    conns = []
    for i, kind in enumerate(KINDS * 3):
        c = socket.socket(busy.family)
        c.setblocking(False)
        c.connect_ex((peer, port))
        conns.append((kind, i, c))
    for kind, i, c in conns:
        select.select([], [c], [], 20)
        c.settimeout(20)
        # (The client that is late sends the rest after the death.)
        c.sendall(request(kind, i)[: 3 if kind == "late" else None])
        if kind == "closed":
            c.shutdown(socket.SHUT_WR)
    while not all_arrived(conns):
        time.sleep(0.001)
    # A worker that accepts no connection for long gives all that wait to others by itself; this must not happen
    # before it is killed.
    print("all wait after %.3f s" % (time.monotonic() - start), file=sys.stderr)
    if time.monotonic() - start > 0.12:
        time.sleep(1)
    os.kill(pid, signal.SIGUSR1)
    try:
        busy.recv(1)
        say("who was accepted: the end")
    except ConnectionResetError:
        say("who was accepted: reset")
    for kind, i, c in conns:
        if kind == "late":
            c.sendall(request(kind, i)[3:])
    for kind, i, c in conns:
        try:
            told = c.recv(1000).decode()
        except OSError as e:
            told = errno.errorcode.get(e.errno, str(e))
        say(kind, i, told.replace(c.getsockname()[0], "PEER"))


def shake(peer, port, pid, netns, device):
    def neigh(*what):
        own = busy.getsockname()[0]
        subprocess.run(["ip", "-n", netns, "neigh", what[0], own, "dev", device, *what[1:]], check=True)

    busy = socket.create_connection((peer, port), timeout=20)
    busy.sendall(b"?")
    assert take(busy, 1) == b"+"
    conns = [socket.create_connection((peer, port), timeout=20) for _ in range(5)]
    time.sleep(0.02)
    neigh("replace", "lladdr", "02:00:00:00:00:01", "nud", "permanent")
    deaf = socket.socket(busy.family)
    deaf.setblocking(False)
    deaf.connect_ex((peer, port))
    time.sleep(0.1)
    os.kill(pid, signal.SIGUSR1)
    time.sleep(0.2)
    neigh("del")
    deaf.settimeout(20)
    for i, c in enumerate(conns):
        c.sendall(request("short", i))
    for i, c in enumerate(conns + [deaf]):
        try:
            if c is deaf:
                select.select([], [c], [], 20)
                c.sendall(request("short", i))
            told = c.recv(1000).decode()
        except OSError as e:
            told = errno.errorcode.get(e.errno, str(e))
        say("deaf" if c is deaf else "shaken", told.replace(c.getsockname()[0], "PEER"))


# A storm ----------------------------------------------------------------------------------------


def storm_worker(s, path, slot):
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGTERM])
    log = os.open(path + "/accepted", os.O_WRONLY | os.O_APPEND)
    busy = mmap.mmap(os.open(path + "/busy", os.O_RDWR), SLOTS)
    sel = selectors.EpollSelector()
    sel.register(s, selectors.EVENT_READ)
    while True:
        for key, _ in sel.select():
            if key.fileobj is not s:
                c = key.fileobj
                try:
                    d = c.recv(4096)
                    if d:
                        c.send(d)
                except OSError:
                    d = b""
                if not d:
                    sel.unregister(c)
                    c.close()
                continue
            busy[slot] = 1
            try:
                c, peer = s.accept()
                os.write(log, b"%d\n" % peer[1])
                c.setblocking(False)
                sel.register(c, selectors.EVENT_READ)
            except BlockingIOError:
                pass
            busy[slot] = 0


def storm(own, port, path):
    s = listener(own, port)
    open(path + "/accepted", "w").close()
    with open(path + "/busy", "wb") as f:
        f.truncate(SLOTS)
    rnd = random.Random(int(os.environ.get("KILL_SEED", "1")))
    pids, slot = [], 0
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])

    def more():
        nonlocal slot
        pid = os.fork()
        if pid == 0:
            storm_worker(s, path, slot)
        slot += 1
        pids.append(pid)

    for _ in range(WORKERS):
        more()
    while slot < SLOTS and not os.path.exists(path + "/" + STOP):
        if signal.sigtimedwait([signal.SIGTERM], rnd.uniform(0.02, 0.12)):
            break
        if os.path.exists(path + "/kill"):
            pid = pids.pop(rnd.randrange(len(pids)))
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            more()
    for pid in pids:
        os.kill(pid, signal.SIGKILL)


def clients(peer, port, path, seconds):
    end = time.monotonic() + seconds
    lost, count = [], [0] * 8

    def run(n):
        while time.monotonic() < end:
            c = socket.socket(socket.AF_INET6 if ":" in peer else socket.AF_INET)
            c.settimeout(20)
            own = None
            try:
                c.connect((peer, port))
                own = c.getsockname()[1]
                d = b"%d" % own * 100
                c.sendall(d)
                if take(c, len(d)) != d:
                    lost.append((own, "ended"))
            except OSError as e:
                lost.append((own, errno.errorcode.get(e.errno, str(e))))
            c.close()
            count[n] += 1

    threads = [threading.Thread(target=run, args=(n,)) for n in range(len(count))]
    for t in threads:
        t.start()
    while sum(count) < 100 and any(t.is_alive() for t in threads):
        time.sleep(0.01)
    open(path + "/kill", "w").close()
    for t in threads:
        t.join()
    os.unlink(path + "/kill")
    with open(path + "/accepted") as f:
        accepted = {int(line) for line in f}
    with open(path + "/busy", "rb") as f:
        busy = sum(f.read())
    bad = [x for x in lost if x[0] not in accepted or x[1] not in ("ended", "ECONNRESET", "EPIPE")]
    print(sum(count), "connections,", len(lost), "ended with one of", busy, "busy dead", file=sys.stderr)
    if len(bad) > busy:
        say("lost before they were accepted:", bad)
    else:
        say("nobody is lost who was not accepted")


if sys.argv[1] == "queue":
    queue(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
elif sys.argv[1] == "wait":
    wait(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
elif sys.argv[1] == "shake":
    shake(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), *sys.argv[5:7])
elif sys.argv[1] == "storm":
    storm(sys.argv[2], int(sys.argv[3]), sys.argv[4])
else:
    clients(sys.argv[2], int(sys.argv[3]), sys.argv[4], float(sys.argv[5]))
