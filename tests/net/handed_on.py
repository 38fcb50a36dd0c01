#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Descriptors that one program passes to an unrelated one (SCM_RIGHTS), as servers do that restart (haproxy -x, envoy,
systemd's FDSTORE).

handed_on.py old WHAT END PATH HOST PORT: serves HOST, and passes what WHAT says over a socket at PATH. Then, by END, it
stays, closes its copy, exits, or kills itself at once; keeps: it never closes its copy, and reads nothing.
handed_on.py new WHAT PATH HOST: gets it there and goes on. WHAT+store: a manager (handed_on.py store PATH) keeps it
for a while, and the old program is gone before the new one asks.
handed_on.py peer WHAT HOST PORT: the clients. It says whether each side got what the other had sent.

WHAT: conn: a connection with bytes in both queues; fin: likewise, and the peer has sent a FIN; idle: one with empty
queues; flow: one on which both sides send all the time; back: idle, and the new program passes it back after a while;
waiting: a listener with connections that wait for accept; deferred: one with TCP_DEFER_ACCEPT; reset: likewise, and the client of the oldest has reset it;
busy: a listener to which clients connect all the time."""
import os
import select
import signal
import socket
import struct
import sys
import threading
import time

from killed_opener import pattern, settle, take, pour, all_sizes, TAIL, inq

CLIENTS = 12
BYTES = 300000
WAIT = ("waiting", "reset", "deferred")
LISTENERS = (*WAIT, "busy")


def family(host):
    return socket.AF_INET6 if ":" in host else socket.AF_INET


def dial(path):
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    for _ in range(500):
        try:
            s.connect(path)
            return s
        except OSError:
            time.sleep(0.02)
    sys.exit("nobody at " + path)


def door(path):
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    s.bind(path)
    os.chmod(path, 0o777)
    s.listen(4)
    return s


def end(how, s, way):
    if how == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    if how == "exits":
        os._exit(0)
    if how == "closes":
        s.close()
    way.recv(10)  # until the other has ended


def answer(s, name):
    """One client: its question, and the answer."""
    try:
        got = take(s, None)
        s.sendall(name + got)
    except ConnectionResetError:
        pass  # (its client knows)
    s.close()


def serve_until(srv, name, stop):
    """Answers clients until stop is readable."""
    while True:
        if stop in select.select([srv, stop], [], [])[0]:
            return
        answer(srv.accept()[0], name)


def old(what, how, path, host, port):
    srv = socket.create_server((host, port), family=family(host), backlog=128)
    way = dial(path + (".store" if "+store" in what else ""))
    what = what.partition("+")[0]
    if what == "deferred":
        srv.setsockopt(socket.IPPROTO_TCP, socket.TCP_DEFER_ACCEPT, 20)
    if what in WAIT:
        answer(srv.accept()[0], b"old ")
        time.sleep(0.5)
    if what == "busy":
        for _ in range(5):
            answer(srv.accept()[0], b"old ")
    if what in LISTENERS:
        socket.send_fds(way, [b"listener"], [srv.fileno()])
        return end(how, srv, way)
    s = srv.accept()[0]
    wrote = 0
    if what in ("conn", "fin"):
        settle(s)
        wrote = pour(s, 0, all_sizes(what), 1 << 22)
    elif what == "flow":
        s.settimeout(0.01)
        for _ in range(20):
            wrote += s.send(pattern(wrote, 3000))
            try:
                s.recv(0)
            except OSError:
                pass
    srv.close()
    socket.send_fds(way, [b"%d" % wrote], [s.fileno()])
    if what == "back":
        s.close()
        s = socket.socket(fileno=socket.recv_fds(way, 100, 1)[1][0])
        s.sendall(s.recv(10))
        s.close()
        return
    end(how, s, way)


def store(path):
    srv = door(path + ".store")
    said, fds, _, _ = socket.recv_fds(srv.accept()[0], 100, 1)
    time.sleep(1)
    s = dial(path)
    socket.send_fds(s, [said], fds)
    s.recv(10)


def new(what, path, host):
    what = what.partition("+")[0]
    way = door(path).accept()[0]
    said, fds, _, _ = socket.recv_fds(way, 100, 1)
    s = socket.socket(fileno=fds[0])
    if what in LISTENERS:
        s.setblocking(True)
        for _ in range(CLIENTS - (1 if what in WAIT else 5)):
            answer(s.accept()[0], b"new ")
        return
    s.setblocking(True)
    if what == "back":
        s.sendall(s.recv(10))
        socket.send_fds(way, [b"back"], [s.fileno()])
        s.close()
        way.recv(10)
        return
    wrote = int(said)
    if what == "flow":
        s.sendall(pattern(wrote, BYTES - wrote))
        wrote = BYTES
    got = take(s, None)
    good = got == pattern(0, len(got) - len(TAIL)) + TAIL
    s.sendall(f"|{wrote} {'whole' if good else 'broken'} {len(got)}".encode())
    s.close()


def client(what, host, port, i, out):
    try:
        s = socket.create_connection((host, port), timeout=10)
        s.sendall(b"%d" % i)
        if what == "reset" and i == 1:
            time.sleep(0.1)
            s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            return s.close()
        s.shutdown(socket.SHUT_WR)
        out[i] = take(s, None) in (b"old %d" % i, b"new %d" % i)
    except OSError as e:
        print(i, e, file=sys.stderr)


def peer(what, host, port):
    what = what.partition("+")[0]
    if what in LISTENERS:
        out = [False] * CLIENTS
        row = [threading.Thread(target=client, args=(what, host, port, i, out)) for i in range(CLIENTS)]
        for i, t in enumerate(row):
            t.start()
            if what == "busy" or i == 0 or (what == "reset" and i == 1):
                time.sleep(0.1)
        for t in row:
            t.join()
        return print(what, sum(out), "of", CLIENTS)
    s = socket.create_connection((host, port))
    s.settimeout(20)
    if what == "back":
        for i in range(2):
            s.sendall(b"%d" % i)
            print("back", i, s.recv(10))
        return print("end", s.recv(10))
    total = 0
    if what in ("conn", "fin"):
        for n in (1, 50, 1400, 20000, 3, 70000):
            s.sendall(pattern(total, n))
            total += n
            time.sleep(0.01)
    if what == "fin":
        s.sendall(TAIL)
        s.shutdown(socket.SHUT_WR)
    got = bytearray()
    if what == "flow":
        def read():
            try:
                got.extend(take(s, None))
            except OSError as e:
                got.extend(e.strerror.encode())
        t = threading.Thread(target=read)
        t.start()
        while total < BYTES:
            s.sendall(pattern(total, 3000))
            total += 3000
            time.sleep(0.005)
        s.sendall(TAIL)
        s.shutdown(socket.SHUT_WR)
        t.join()
    else:
        time.sleep(1.5)
        if what != "fin":
            s.sendall(TAIL)
            s.shutdown(socket.SHUT_WR)
        got += take(s, None)
    at = got.rindex(b"|") if b"|" in got else len(got)
    wrote, state, read = (bytes(got[at + 1:]).decode() or "- - 0").split()
    print(what, "peer's bytes", state, int(read) == total + len(TAIL), "own bytes", got[:at] == pattern(0, at) and at == int(wrote))
    print(f"{at} bytes", file=sys.stderr)


if __name__ == "__main__":
    role, *args = sys.argv[1:]
    if role in ("old", "peer"):
        args[-1] = int(args[-1])
    {"old": old, "new": new, "store": store, "peer": peer}[role](*args)
