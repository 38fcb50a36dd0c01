# SPDX-License-Identifier: BSD-2-Clause
"""unreachable.py OWN PORT HOW: a server that shuts itself in, so that no path leads to the daemon's socket any more. It has
a listener, a connection and a datagram socket from before, and makes the same again afterwards; all echo until
each client's end. HOW: chroot, landlock, mount, or start (it was shut in before it began).
unreachable.py ask OWN PORT: its clients."""
import ctypes
import os
import selectors
import socket
import struct
import sys
import time

libc = ctypes.CDLL(None, use_errno=True)
NEW = 4  # ports of what is made afterwards begin here


def listener(own, port):
    s = socket.socket()
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    s.bind((own, port))
    s.listen(8)
    return s


def datagrams(own, port):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.bind((own, port))
    return s


def landlock():
    attr = struct.pack("=Q", (1 << 13) - 1)  # no file may be opened
    ruleset = libc.syscall(444, attr, 8, 0)
    assert ruleset >= 0 and libc.prctl(38, 1, 0, 0, 0) == 0
    assert libc.syscall(446, ruleset, 0) == 0
    os.close(ruleset)


def mount():
    assert libc.unshare(0x20000) == 0, ctypes.get_errno()
    assert libc.mount(b"none", b"/", None, 0x44000, None) == 0  # MS_REC | MS_PRIVATE
    for hidden in (b"/tmp", b"/run"):
        assert libc.mount(b"none", hidden, b"tmpfs", 0, None) == 0, ctypes.get_errno()


def chroot():
    os.chroot("/proc/self/fdinfo")
    os.chdir("/")


def serve(socks, clients):
    """Echoes, until so many clients have closed and so many empty datagrams have come."""
    with selectors.DefaultSelector() as sel:
        for s in socks:
            s.setblocking(False)
            sel.register(s, selectors.EVENT_READ)
        while clients:
            for key, _ in sel.select():
                s = key.fileobj
                if s.type == socket.SOCK_DGRAM:
                    data, who = s.recvfrom(65536)
                    s.sendto(data, who)
                    clients -= not data
                elif s.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
                    sel.register(s.accept()[0], selectors.EVENT_READ)
                elif data := s.recv(65536):
                    s.setblocking(True)
                    s.sendall(data)
                    s.setblocking(False)
                else:
                    sel.unregister(s)
                    s.close()
                    clients -= 1


def server(own, port, how):
    before = [listener(own, port), datagrams(own, port)]
    conn = before[0].accept()[0]
    conn.sendall(conn.recv(100))
    if how != "start":
        globals()[how]()
    print("shut in", flush=True)
    serve([*before, conn, listener(own, port + NEW), datagrams(own, port + NEW)], 5)


def ask_stream(s, name):
    data = os.urandom(300000)
    for i in range(0, len(data), 10000):
        s.sendall(data[i:i + 10000])
        got = b""
        while len(got) < 10000:
            more = s.recv(65536)
            assert more, f"{name}: it ends"
            got += more
        assert got == data[i:i + 10000], name
    s.close()


def connect(to):
    for _ in range(200):
        try:
            return socket.create_connection(to, 10)
        except ConnectionRefusedError:
            time.sleep(0.05)


def client(own, port):
    old = connect((own, port))
    old.settimeout(10)
    old.sendall(b"before")
    assert old.recv(100) == b"before"
    new = connect((own, port + NEW))  # it has shut itself in by now
    ask_stream(new, "a listener made afterwards")
    ask_stream(connect((own, port)), "a listener from before")
    ask_stream(old, "a connection from before")
    for at in (port, port + NEW):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as u:
            u.settimeout(10)
            u.connect((own, at))
            for n in (1, 1000, 1400, 0):
                u.send(b"d" * n)
                assert u.recv(9999) == b"d" * n
    print("all is answered")


if sys.argv[1] == "ask":
    client(sys.argv[2], int(sys.argv[3]))
else:
    server(sys.argv[1], int(sys.argv[2]), sys.argv[3])
