# SPDX-License-Identifier: BSD-2-Clause
"""address_space.py: run as `address_space.py child|sessions|arenas|limited|lock PEER`; prints what the kernel lets happen.

child: a server's child limits its address space, as vsftpd does for each session, and allocates.
sessions: the same for each of a few children, which use the connection that they inherit.
arenas: children use the connections that they inherit, and no thread of the library has an arena of malloc(3).
limited: the limit is there before the first socket.
lock: all memory is locked (as root, since few users may lock that much), before the first socket and after it.
"""
import ctypes
import mmap
import os
import resource
import socket
import sys

MB = 1 << 20
LIBC = ctypes.CDLL(None, use_errno=True)


def kb(name):
    with open("/proc/self/status") as f:
        return next(int(line.split()[1]) for line in f if line.startswith(name + ":"))


def talk(peer):
    s = socket.create_connection((peer, 7000))
    s.sendall(b"x")
    assert s.recv(1) == b"x"
    return s


def limit(mb):
    resource.setrlimit(resource.RLIMIT_AS, (mb * MB, mb * MB))


def child(peer):
    s = talk(peer)
    print(f"addresses of the library: {kb('VmSize') - before >> 10} MB", file=sys.stderr)
    print("addresses:", "few" if kb("VmSize") - before < 200 * 1024 else "many")
    sys.stdout.flush()
    pid = os.fork()
    if pid == 0:
        limit(200)
        try:
            bytearray(4 * MB)
            print("allocated")
        except MemoryError:
            print("no memory")
        s.sendall(b"y")
        print(s.recv(1))
        sys.stdout.flush()
        os._exit(0)
    os.waitpid(pid, 0)


def sessions(peer):
    for _ in range(4):
        s = talk(peer)
        pid = os.fork()
        if pid == 0:
            limit(200)
            s.sendall(b"y")
            print(s.recv(1))
            try:
                mmap.mmap(-1, 4 * MB)
                print("mapped")
            except OSError:
                print("no memory")
            sys.stdout.flush()
            os._exit(0)
        os.waitpid(pid, 0)
        s.close()


def count_arenas():
    """Of malloc(3), beside the first: 64 MB of addresses, aligned to that, of which the beginning is readable."""
    n, last = 0, None
    with open("/proc/self/maps") as f:
        for fields in map(str.split, f):
            lo, hi = (int(x, 16) for x in fields[0].split("-"))
            if fields[1] == "---p" and last and last[1] == lo and hi - last[0] == 64 * MB:
                n += 1
            last = (lo, hi) if fields[1] == "rw-p" and len(fields) < 6 and lo % (64 * MB) == 0 else None
    return n


def arenas(peer):
    for _ in range(3):
        s = talk(peer)
        pid = os.fork()
        if pid == 0:
            s.sendall(b"y")
            s.recv(1)
            print("arenas:", count_arenas())
            sys.stdout.flush()
            os._exit(0)
        os.waitpid(pid, 0)
        s.close()
        talk(peer)
    print("arenas:", count_arenas())


def limited(peer):
    limit(400)
    talk(peer)
    print("done")


def lock(peer):
    for flags in 2, 1:  # MCL_FUTURE, MCL_CURRENT
        r = LIBC.mlockall(flags)
        print("mlockall:", os.strerror(ctypes.get_errno()) if r else "done")
        talk(peer)


before = kb("VmSize")
globals()[sys.argv[1]](sys.argv[2])
