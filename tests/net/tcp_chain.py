# SPDX-License-Identifier: BSD-2-Clause
"""A connection goes from process to process by SCM_RIGHTS; the processes that it has left are killed.

usage: tcp_chain.py listen ADDRESS PORT PATH   accepts, and passes the connection on
       tcp_chain.py pass PATH PATH             takes, passes on
       tcp_chain.py keep PATH                  takes
       tcp_chain.py client ADDRESS PORT [now]  sends, checks answers, has the processes killed; now: even if the last
       one does not offload the connection

Each process answers a line with its number and "ours" or "kernels", and passes the connection on when the line says
so."""
import ctypes
import os
import signal
import socket
import sys
import time

SYS_GETPEERNAME, FIRST_VERSION = {"x86_64": (52, b"GLIBC_2.2.5"), "aarch64": (205, b"GLIBC_2.17")}[os.uname().machine]


def its_own(name):
    """The C library's function, where dlsym(3) would give the preloaded one."""
    libc = ctypes.CDLL("libc.so.6")
    libc.dlvsym.restype = ctypes.c_void_p
    at = libc.dlvsym(ctypes.c_void_p(libc._handle), name, FIRST_VERSION)
    return ctypes.CFUNCTYPE(ctypes.c_long, ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p)(at)


its_syscall = its_own(b"syscall")


def is_kernels(fd):
    buf, size = ctypes.create_string_buffer(128), ctypes.c_uint32(128)
    return its_syscall(SYS_GETPEERNAME, fd, ctypes.addressof(buf), ctypes.addressof(size)) == 0


def take(path):
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen()
    link = listener.accept()[0]
    return socket.socket(fileno=socket.recv_fds(link, 1, 1)[1][0])


def serve(conn):
    """Answers lines until one says to pass the connection on."""
    lines = conn.makefile("rwb", buffering=0)
    while True:
        line = lines.readline()
        if not line:
            sys.exit()
        if line.startswith(b"pass"):
            return
        who = "kernels" if is_kernels(conn.fileno()) else "ours"
        lines.write(b"%d %s %s" % (os.getpid(), who.encode(), line))


def pass_on(conn, path):
    link = socket.socket(socket.AF_UNIX)
    link.connect(path)
    socket.send_fds(link, [b"."], [conn.fileno()])
    conn.close()
    signal.pause()


def client(address, port, now):
    conn = socket.create_connection((address, port))
    conn.settimeout(20)
    lines = conn.makefile("rwb", buffering=0)
    n, pids = 0, []

    def ask():
        nonlocal n
        n += 1
        text = b"%d %s\n" % (n, b"x" * (n * 37 % 2000))
        lines.write(text)
        pid, who, got = lines.readline().split(b" ", 2)
        assert got == text, (got, text)
        return int(pid), who == b"ours"

    def settle():
        """Waits until the next process offloads the connection (or, in vain, for a time)."""
        end = time.monotonic() + 5
        pid, ours = ask()
        while not ((ours or now) and pid not in pids) and time.monotonic() < end:
            time.sleep(0.01)
            pid, ours = ask()
        assert pid not in pids
        pids.append(pid)

    settle()
    for _ in range(2):
        lines.write(b"pass\n")
        settle()
    for pid in reversed(pids[:-1]):
        os.kill(pid, signal.SIGKILL)
        end = time.monotonic() + 0.5
        while time.monotonic() < end:
            assert ask()[0] == pids[-1]
    end = time.monotonic() + 10
    while not ask()[1] and time.monotonic() < end:
        time.sleep(0.01)
    print("ours" if ask()[1] else "kernels")


if sys.argv[1] == "listen":
    listener = socket.create_server((sys.argv[2], int(sys.argv[3])),
                                    family=socket.AF_INET6 if ":" in sys.argv[2] else socket.AF_INET)
    conn = listener.accept()[0]
    serve(conn)
    pass_on(conn, sys.argv[4])
elif sys.argv[1] == "pass":
    conn = take(sys.argv[2])
    serve(conn)
    pass_on(conn, sys.argv[3])
elif sys.argv[1] == "keep":
    serve(take(sys.argv[2]))
else:
    client(sys.argv[2], int(sys.argv[3]), sys.argv[4:] == ["now"])
