# SPDX-License-Identifier: BSD-2-Clause
"""parted.py OWN PORT: a server and its children: children by fork(2), and by the bare system call, which the library
does not see. Prints which memory shared with other processes, and which descriptors of the library, a child has.
parted.py ask OWN PORT: its client."""
import ctypes
import mmap
import os
import socket
import sys
import time

KIDS = ("fork", "bare", "late")  # late: makes no call of the library before it looks


def net_inodes():
    """Inodes of all sockets in the kernel's lists in /proc/net."""
    at = {"tcp": 9, "tcp6": 9, "udp": 9, "udp6": 9, "unix": 6}
    seen = set()
    for name, column in at.items():
        with open(f"/proc/self/net/{name}") as f:
            for line in f.readlines()[1:]:
                seen.add(int(line.split()[column]))
    return seen


def is_others(perm, name):
    # Two things are shared on purpose: counters of listeners that processes share (lib/sock/listen/box.c), and the
    # page where a parent answers its children's letters, for reading (lib/sock/core/board.c).
    if perm == "r--s" and name == "/memfd:sluice-board (deleted)":
        return False
    return perm[3] == "s" and name != "/dev/zero (deleted)" or "memfd:" in name or "anon_inode" in name


def has_memory():
    found = []
    with open("/proc/self/maps") as f:
        for line in f:
            part = line.split(None, 5)
            name = part[5].strip() if len(part) > 5 else ""
            if is_others(part[1], name):
                found.append((part[1], name))
    return found


def has_descriptors(own):
    found, known = [], net_inodes()
    for fd in os.listdir("/proc/self/fd"):
        try:
            to = os.readlink(f"/proc/self/fd/{fd}")
        except OSError:
            continue
        if to.startswith("socket:["):
            inode = int(to[8:-1])
            if inode not in known and inode not in own:
                found.append(f"{fd} {to}")
        elif any(w in to for w in ("memfd:", "bpf", "verbs", "net:[", ".stats")):
            found.append(f"{fd} {to}")
    return found


def bare_fork():
    """fork(2) by the instruction."""
    code = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    code.write(bytes.fromhex("b8390000000f05c3"))  # mov $57, %eax; syscall; ret
    at = ctypes.addressof(ctypes.c_char.from_buffer(code))
    return ctypes.PYFUNCTYPE(ctypes.c_int)(at)()


def echo_udp(u):
    data, who = u.recvfrom(100)
    u.sendto(data, who)
    return data.decode()


def echo_tcp(c):
    data = c.recv(100)
    c.sendall(data)
    return data.decode()


def child(kind, u, c, own):
    if kind != "late":
        echo_tcp(c)
        echo_udp(u)
    memory, fds = has_memory(), has_descriptors(own)
    if kind == "late":
        echo_tcp(c)
        echo_udp(u)
    print(f"{kind}: memory {memory}, descriptors {fds}", flush=True)


def main():
    own, port = sys.argv[1], int(sys.argv[2])
    family = socket.AF_INET6 if ":" in own else socket.AF_INET
    u = socket.socket(family, socket.SOCK_DGRAM)
    u.bind((own, port))
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind((own, port))
    listener.listen(5)
    for kind in KIDS:
        c, _ = listener.accept()
        print(kind, echo_tcp(c), echo_udp(u), flush=True)
        inodes = {os.fstat(s.fileno()).st_ino for s in (u, listener, c)}
        pid = os.fork() if kind == "fork" else bare_fork()
        if pid == 0:
            status = 1
            try:
                child(kind, u, c, inodes)
                status = 0
            except BaseException as e:
                print(f"{kind}: {e!r}", flush=True)
            finally:
                os._exit(status)
        print(kind, "status", os.waitpid(pid, 0)[1], flush=True)
        print(kind, echo_tcp(c), echo_udp(u), flush=True)
        c.close()


def ask(own, port):
    family = socket.AF_INET6 if ":" in own else socket.AF_INET
    u = socket.socket(family, socket.SOCK_DGRAM)
    u.settimeout(20)
    u.connect((own, port))
    for kind in KIDS:
        c = socket.create_connection((own, port), timeout=20)
        for who in "before", "child", "after":
            for s in c, u:
                s.sendall(f"{who}".encode())
                assert s.recv(100) == who.encode(), (kind, who)
        c.close()
    print("all is answered")


if __name__ != "__main__":
    pass
elif sys.argv[1] == "ask":
    ask(sys.argv[2], int(sys.argv[3]))
else:
    main()
