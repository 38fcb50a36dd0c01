# SPDX-License-Identifier: BSD-2-Clause
"""dropped.py OWN PORT HOW: a server with connections, a datagram socket and clients that wait to be accepted
becomes another user while it works, or gives up rights, and goes on. Prints which memory shared with other processes
it still has.
dropped.py ask OWN PORT: its clients."""
import ctypes
import os
import select
import socket
import sys
import threading
import time

N = 200  # messages of a client; the change comes between the first and the last
NOBODY = 65534
libc = ctypes.CDLL(None, use_errno=True)


def capset(keep):
    low, high = keep & 0xFFFFFFFF, keep >> 32
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)
    data = (ctypes.c_uint32 * 6)(low, low, 0, high, high, 0)
    assert libc.capset(header, data) == 0, ctypes.get_errno()


def as_user():
    os.setgroups([])
    os.setgid(NOBODY)
    os.setuid(NOBODY)


def as_user_raw():
    assert libc.syscall(ctypes.c_long(117), NOBODY, NOBODY, NOBODY) == 0  # setresuid


def nothing():
    """Calls that change nothing, or fail."""
    os.setgroups(os.getgroups())
    os.setgid(os.getgid())
    os.setuid(os.getuid())
    os.setresuid(-1, -1, -1)
    os.setreuid(os.getuid(), -1)
    os.chroot("/")
    if os.getuid() == 0:
        os.seteuid(NOBODY)
        os.seteuid(0)


CHANGES = {
    "setuid": as_user,
    "setresuid": lambda: os.setresuid(NOBODY, NOBODY, NOBODY),
    "setreuid": lambda: os.setreuid(NOBODY, NOBODY),
    "setgroups": lambda: os.setgroups([7]),
    "initgroups": lambda: os.initgroups("nobody", 65534),
    "capset": lambda: capset(0),
    "chroot": lambda: os.chroot("/usr"),
    "syscall": as_user_raw,
    "again": as_user,
    "nothing": nothing,
}


def inside(name):
    """Opens a file of this process in /proc, also when the program has another root directory by now."""
    return open(os.open(name, os.O_RDONLY, dir_fd=proc))


def maps():
    found = []
    with inside("maps") as f:
        for line in f:
            part = line.split(None, 5)
            name = part[5].strip() if len(part) > 5 else ""
            if ".stats" in name or name == "/dev/zero (deleted)":  # its own counters
                continue
            if part[1][3] == "s" or "memfd:" in name or "anon_inode" in name:
                found.append((part[1], name))
    return found


def descriptors():
    found = []
    for fd in os.listdir(fds):
        try:
            to = os.readlink(fd, dir_fd=fds)
        except OSError:
            continue
        log = to.endswith(".log") and os.fstat(int(fd)).st_uid != os.getuid()
        if log or any(w in to for w in ("memfd:", "bpf", "verbs")):
            found.append(to)
    return found


def threads():
    """The user and the capabilities of each thread."""
    users = set()
    for t in os.listdir(os.open("task", os.O_RDONLY, dir_fd=proc)):
        try:
            with inside(f"task/{t}/status") as f:
                lines = f.read().splitlines()
        except OSError:
            continue
        users.add("/".join(x.split()[1] for x in lines if x.startswith(("Uid:", "CapPrm:"))))
    return users


def again(ep, s, own, port):
    """Sockets made by the new user are offloaded again, and the listener still accepts."""
    end = time.monotonic() + 20
    first = maps()
    while not maps() and time.monotonic() < end:
        time.sleep(0.1)
        new = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        new.bind((own, port + 100))
        where = new
        if not maps():
            new.close()
    print("memory", first, "then", bool(maps()), flush=True)
    data, who = where.recvfrom(100)
    where.sendto(data, who)
    served = 0
    while served < 5:
        for fd, ev in ep.poll(20) or sys.exit("nobody comes"):
            c, _ = s.accept()
            c.setblocking(True)
            c.sendall(c.recv(100))
            c.close()
            served += 1
    print("served", served, flush=True)


def serve(own, port, how):
    global proc, fds
    u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    u.bind((own, port))
    s = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    s.bind((own, port))
    s.listen(20)
    s.setblocking(how != "again")
    proc = os.open("/proc/self", os.O_RDONLY)
    fds = os.open("fd", os.O_RDONLY, dir_fd=proc)
    ep = select.epoll()
    conns = {}
    for x in s, u:
        ep.register(x, select.EPOLLIN)
    got = served = 0
    done = 0
    block = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    block.bind((own, port + 1))
    said = []
    sleeper = threading.Thread(target=lambda: said.append(block.recv(100).decode()), daemon=True)
    sleeper.start()
    while done < 3:
        for fd, ev in ep.poll(20) or sys.exit("nothing comes"):
            if fd == u.fileno():
                data, who = u.recvfrom(100)
                u.sendto(data, who)
                if data == b"change":
                    # Another client has connected and sent by now: it must be served after the change.
                    time.sleep(0.3)
                    CHANGES[how]()
                elif data == b"end":
                    done += 1
            elif fd == s.fileno():
                c, _ = s.accept()
                conns[c.fileno()] = c
                ep.register(c, select.EPOLLIN)
            else:
                data = conns[fd].recv(65536)
                if not data:
                    ep.unregister(fd)
                    conns.pop(fd).close()
                    done += 1
                else:
                    served += len(data)
                    conns[fd].sendall(data)
    sleeper.join(20)
    # (join() returns a moment before the kernel's thread has ended; until then it still has its old rights.)
    end = time.monotonic() + 5
    while len(threads()) > 1 and time.monotonic() < end:
        time.sleep(0.01)
    if how == "again":
        again(ep, s, own, port)
    elif how == "nothing" or how.endswith("groups") and os.getuid() == 0:
        print("memory", bool(maps()), "threads", len(threads()), "woken", said, flush=True)
    else:
        print("memory", maps(), "descriptors", descriptors(), "users", len(threads()), "woken", said, flush=True)


def ask(own, port):
    u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    u.settimeout(20)
    u.connect((own, port))
    c = socket.create_connection((own, port), timeout=20)
    late = None
    for i in range(N):
        if i == N // 2:
            u.send(b"change")
            late = socket.create_connection((own, port), timeout=20)
            late.sendall(b"early")
            assert u.recv(100) == b"change"
        data = b"%08d" % i * 100
        c.sendall(data)
        got = b""
        while len(got) < len(data):
            part = c.recv(65536)
            assert part, "the connection has ended"
            got += part
        assert got == data, i
        u.send(b"%d" % i)
        assert u.recv(100) == b"%d" % i
    assert late.recv(100) == b"early"
    u.connect((own, port + 1))
    u.send(b"wake up")
    u.connect((own, port))
    c.close()
    late.close()
    u.send(b"end")
    assert u.recv(100) == b"end"
    print("all is answered")


def ask_again(own, port):
    u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    u.settimeout(20)
    u.connect((own, port + 100))
    u.send(b"another user's")
    assert u.recv(100) == b"another user's"
    for _ in range(5):
        with socket.create_connection((own, port), timeout=20) as c:
            c.sendall(b"here")
            assert c.recv(100) == b"here"
    print("all is answered")


if sys.argv[1] == "again":
    ask_again(sys.argv[2], int(sys.argv[3]))
elif sys.argv[1] == "ask":
    ask(sys.argv[2], int(sys.argv[3]))
else:
    serve(sys.argv[1], int(sys.argv[2]), sys.argv[3])
