# SPDX-License-Identifier: BSD-2-Clause
"""A user passes sluiced descriptors of every kind in every request that takes some. Usage: lease_kinds.py SOCKET.

The daemon must refuse each descriptor that is not of the request's kind, before it does anything with it. Prints a line
for each answer that is wrong, then "asked N, longest MS"."""
import ctypes, os, socket, struct, sys, time

from leaselib import call, dial, greet

UID = 65533
path = sys.argv[1]
libc = ctypes.CDLL(None, use_errno=True)
WRONG_KIND = "is not of the kind"
# Bytes of the body, and number of descriptors (lease.def).
TAKES = {"HELLO": (48, 1), "CLAIM": (80, 1), "RESTORE": (120, 2), "TAKE": (0, 1), "DROP": (4, 1), "INJECT": (9232, 1),
         "CONNS": (80, 1), "HOLDERS": (0, 1), "BUFFER": (8, 1), "BOX": (4, 2), "HEIR": (0, 1)}


def syscall(nr, *args):
    return libc.syscall(nr, *args)


def sealed():
    fd = os.memfd_create("sealed", os.MFD_ALLOW_SEALING)
    os.ftruncate(fd, 4096)
    assert libc.fcntl(fd, 1033, 15) == 0  # F_ADD_SEALS
    return fd


def bpf_map():
    attr = ctypes.create_string_buffer(struct.pack("=5I", 2, 4, 4, 1, 0), 128)  # an array of one number
    return syscall(321, 0, attr, 128)


def epoll_of(fd):
    ep = syscall(291, 0)
    libc.epoll_ctl(ep, 1, fd, struct.pack("=IQ", 1, 0))
    return ep


def epoll_chain(fd):
    """Five epoll sets, each of which watches the one before: a sixth would be refused."""
    for _ in range(5):
        fd = epoll_of(fd)
    return fd


def sock(*kind):
    try:
        return socket.socket(*kind).detach()
    except OSError:
        return -1


def kinds(conn):
    """By name: the descriptor, and whether it is a socket or memory. (The kernel passes no io_uring.)"""
    r, w = os.pipe()
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    listener.bind(b"\0lease_kinds")
    listener.listen(1)
    sig = ctypes.create_string_buffer(8)
    return {
        "memfd": (os.memfd_create("plain"), "memory"),
        "sealed memfd": (sealed(), "memory"),
        "memfd_secret": (syscall(447, 0), ""),
        "bpf map": (BPF_MAP, ""),
        "pidfd": (os.pidfd_open(os.getpid()), ""),
        "signalfd": (syscall(289, -1, sig, 8, 0), ""),
        "eventfd": (syscall(290, 0, 0), ""),
        "timerfd": (syscall(283, 1, 0), ""),
        "inotify": (syscall(294, 0), ""),
        "userfaultfd": (syscall(323, 1), ""),
        "epoll of the connection": (epoll_of(conn), ""),
        "five epoll sets": (epoll_chain(conn), ""),
        "pipe": (r, ""),
        "directory": (os.open("/", os.O_RDONLY), ""),
        "path": (os.open("/", os.O_PATH), ""),
        "device": (os.open("/dev/zero", os.O_RDWR), ""),
        "mount namespace": (os.open("/proc/self/ns/mnt", os.O_RDONLY), ""),
        "network namespace": (os.open("/proc/self/ns/net", os.O_RDONLY), "netns"),
        "the connection itself": (conn, "socket"),
        "UNIX listener": (listener.detach(), "socket"),
        "netlink": (sock(socket.AF_NETLINK, socket.SOCK_RAW, 0), "socket"),
        "crypto": (sock(socket.AF_ALG, socket.SOCK_SEQPACKET), "socket"),
        "vsock": (sock(socket.AF_VSOCK, socket.SOCK_STREAM), "socket"),
        "MPTCP": (sock(socket.AF_INET, socket.SOCK_STREAM, 262), "socket"),
        "UDP": (sock(socket.AF_INET, socket.SOCK_DGRAM), "socket"),
    }


longest = asked = 0


def ask(s, op, body, fds):
    """The error and its reason; "hung up"."""
    global longest, asked
    start = time.monotonic()
    err, body = call(s, op, body, fds)
    longest = max(longest, time.monotonic() - start)
    asked += 1
    return err, body.split(b"\0")[0].decode() if err else ""


def greeted():
    s = dial(path)
    assert greet(s)[0] == 0
    return s


def wants(op, i):
    if op == "HELLO":
        return ("netns",)
    if op == "CONNS":
        return ("memory",)
    return ("socket", "memory") if op == "RESTORE" and i else ("socket",)


def answer_is_right(op, err, why, i, kind):
    if op == "HELLO":
        return (err == 0) == (kind == "netns")
    if kind in wants(op, i):
        return WRONG_KIND not in why and (err != 0 or op in ("HOLDERS", "TAKE"))  # (TAKE gives it back)
    return err == -1 and f"descriptor {i} {WRONG_KIND}" in why


BPF_MAP = bpf_map()
os.setgroups([])
os.setresgid(UID, UID, UID)
os.setresuid(UID, UID, UID)
session = greeted()
good = sock(socket.AF_INET, socket.SOCK_STREAM)
there = {name: k for name, k in kinds(session.fileno()).items() if k[0] >= 0}
for op, (size, n) in TAKES.items():
    for name, (fd, kind) in there.items():
        for i in range(n):
            s = dial(path) if op == "HELLO" else session
            err, why = ask(s, op, bytes(size), [fd if j == i else good for j in range(n)])
            if not answer_is_right(op, err, why, i, kind):
                print(f"{op} with {name} ({i}): {err} {why}")
                session = greeted() if err == "hung up" and s is session else session
print(f"asked {asked}, {len(there)} kinds, longest {longest * 1000:.0f} ms", flush=True)
