#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""killed_opener.py serve WHAT HOST PORT: accepts a connection, forks, and kills itself with bytes in its queues.
killed_opener.py WHAT HOST PORT: the peer. It says whether each side got what the other had sent.

WHAT: unread: the peer has sent; unsent: it reads nothing until the end; both; late: both, and the bytes come after the
fork; fin: unread, and the peer has sent a FIN; mixed: both, a part was read and acknowledged, in pieces of all sizes;
unused: the child ends and has not used the connection; many: MANY connections, each with a child, and the children use
them at the same time; idle: unread, and the child waits for the file DIR/go, when it has written its number and the socket's into DIR/child.

killed_opener.py thief SOCKET DIR: asks the daemon for that connection as several users, with that child's socket and
with another, and then makes DIR/go."""
import ctypes
import os
import random
import signal
import socket
import struct
import sys
import termios
import time
import fcntl

TAIL = b"the end of it"
MANY = 40


def pattern(start, n):
    """Bytes that tell where they stand."""
    row = b"".join(i.to_bytes(4, "big") for i in range(start // 4, (start + n) // 4 + 1))
    return row[start % 4:start % 4 + n]


def inq(s):
    return int.from_bytes(fcntl.ioctl(s, termios.FIONREAD, b"\0" * 4), sys.byteorder)


def settle(s):
    """Waits until no more bytes come."""
    n, same = -1, 0
    while same < 5:
        time.sleep(0.02)
        same, n = (same + 1, n) if inq(s) == n else (0, inq(s))
    return n


def take(s, n):
    """Reads n bytes, or all there are."""
    out = bytearray()
    while n is None or len(out) < n:
        piece = s.recv(65536 if n is None else n - len(out))
        if not piece:
            break
        out += piece
    return bytes(out)


def pour(s, start, sizes, most):
    """Sends the pattern until the queue is full; returns where it stands."""
    s.setblocking(False)
    try:
        while start < most:
            start += s.send(pattern(start, min(next(sizes), most - start)))
    except BlockingIOError:
        pass
    s.setblocking(True)
    return start


def all_sizes(what):
    r = random.Random(5)
    while True:
        yield r.choice((1, 7, 100, 700, 1500, 9000)) if what == "mixed" else 8192


def serve_many(srv):
    conns = [srv.accept()[0] for _ in range(MANY)]
    dead, alive = os.pipe()
    for s in conns:
        if not os.fork():
            os.close(alive)
            os.read(dead, 1)
            s.sendall(s.recv(100))
            os._exit(0)
    for s in conns:
        while not inq(s):
            time.sleep(0.01)
    os.kill(os.getpid(), signal.SIGKILL)


def peer_many(host, port):
    conns = [socket.create_connection((host, port)) for _ in range(MANY)]
    whole = 0
    for i, s in enumerate(conns):
        s.sendall(b"%d" % i)
    for i, s in enumerate(conns):
        s.settimeout(10)
        try:
            whole += take(s, None) == b"%d" % i
        except OSError:
            pass
    print("many:", whole, "of", MANY)


def confine():
    """A filter (seccomp) that kills this process for socket(2), connect(2) and open(2)."""
    deny = (2, 41, 42, 257)
    code = [(0x20, 0, 0, 0)] + [(0x15, len(deny) - i, 0, nr) for i, nr in enumerate(deny)]
    code += [(6, 0, 0, 0x7fff0000), (6, 0, 0, 0x80000000)]
    raw = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *x) for x in code))
    prog = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(code), ctypes.addressof(raw)))
    libc = ctypes.CDLL(None)
    if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, prog):
        sys.exit("no filter")


def change(how):
    if how == "user":
        os.setresgid(65532, 65532, 65532)
        os.setresuid(65532, 65532, 65532)
    elif how == "root":
        os.chroot(os.environ["DIR"])
    elif how == "confined":
        confine()


def serve(what, host, port):
    what, _, how = what.partition("+")
    srv = socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    if what == "many":
        serve_many(srv)
    s = srv.accept()[0]
    sizes = all_sizes(what)
    read, wrote = 0, 0
    if what != "late":
        settle(s)
    if what == "mixed":
        read = len(take(s, 7777))
    if what in ("unsent", "both", "mixed", "urgent"):
        wrote = pour(s, 0, sizes, 50000)
    dead, alive = os.pipe()
    if os.fork():
        os.close(dead)
        settle(s)
        if what == "mixed":
            read += len(take(s, 3333))
        if what in ("unsent", "both", "late", "mixed", "urgent"):
            for _ in range(3):
                wrote = pour(s, wrote, sizes, 1 << 22)
                time.sleep(0.02)
        os.write(alive, f"{read} {wrote}".encode())
        os.kill(os.getpid(), signal.SIGKILL)
    os.close(alive)
    change(how)
    said = b""
    while piece := os.read(dead, 100):
        said += piece
    read, wrote = map(int, said.split())
    if what == "idle":
        srv.close()
        with open(os.environ["DIR"] + "/child.new", "w") as f:
            f.write(f"{os.getpid()} {s.fileno()}")
        os.rename(os.environ["DIR"] + "/child.new", os.environ["DIR"] + "/child")
        while not os.path.exists(os.environ["DIR"] + "/go"):
            time.sleep(0.01)
    if what == "unused":
        time.sleep(0.3)
        os._exit(0)
    if what not in ("unread", "idle"):
        time.sleep(0.3)
    if what != "fin":
        settle(s)
    got = take(s, None)
    good = got == pattern(read, len(got) - len(TAIL)) + TAIL
    s.sendall(f"|{wrote} {'whole' if good else 'broken'} {read + len(got)}".encode())
    s.close()


def peer(what, host, port):
    if what == "many":
        return peer_many(host, port)
    s = socket.create_connection((host, port))
    total = 0
    if what == "unused":
        s.settimeout(10)
        try:
            print("unused:", s.recv(10))
        except OSError as e:
            print("unused:", e.strerror)
        return
    if what != "unsent":
        for n in (1, 50, 1400, 20000, 3, 70000) if what != "mixed" else (5, 500, 1400, 9, 9, 30000, 1, 1):
            s.sendall(pattern(total, n))
            total += n
            if what.startswith("urgent") and n == 1400:
                s.send(b"!", socket.MSG_OOB)
            time.sleep(0.01)
    if what == "fin":
        s.sendall(TAIL)
        s.shutdown(socket.SHUT_WR)
    time.sleep(2)
    if what != "fin":
        s.sendall(TAIL)
        s.shutdown(socket.SHUT_WR)
    try:
        got = take(s, None)
    except OSError as e:
        print(what, e.strerror)
        return
    at = got.rindex(b"|") if b"|" in got else len(got)
    wrote, state, read = (got[at + 1:].decode() or "- - -").split()
    print(what, "peer's bytes", state, int(read) == total + len(TAIL), "own bytes", got[:at] == pattern(0, at) and at == int(wrote))
    print(f"{at} bytes", file=sys.stderr)


def ask(path, fd):
    """The daemon's answer to HEIR: its error, or the name of the socket's peer."""
    s = leaselib.dial(path)
    leaselib.send(s, leaselib.message("HEIR"), [fd])
    err, _, fds = leaselib.receive(s)
    if not fds:
        return os.strerror(-err)
    return "the connection to " + socket.socket(fileno=fds[0]).getpeername()[0]


def thief(path, place):
    with open(place + "/child") as f:
        pid, number = map(int, f.read().split())
    shadow = ctypes.CDLL(None).syscall(438, os.pidfd_open(pid), number, 0)
    other = socket.socket()
    for uid in (0, 65533, 65534):
        if os.fork():
            os.wait()
            continue
        os.setresuid(uid, uid, uid)
        print(uid, "the child's:", ask(path, shadow), flush=True)
        print(uid, "another:", ask(path, other.fileno()), flush=True)
        os._exit(0)
    open(place + "/go", "w").close()


if __name__ == "__main__":
    if sys.argv[1] == "thief":
        import leaselib
        thief(*sys.argv[2:])
    elif sys.argv[1] == "serve":
        serve(*sys.argv[2:4], int(sys.argv[4]))
    else:
        peer(*sys.argv[1:3], int(sys.argv[3]))
