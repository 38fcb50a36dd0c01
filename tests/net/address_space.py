# SPDX-License-Identifier: BSD-2-Clause
"""address_space.py: run as `address_space.py child|limited|lock PEER`; prints what the kernel lets happen.

child: a server's child limits its address space, as vsftpd does for each session, and allocates.
limited: the limit is there before the first socket.
lock: all memory is locked (as root, since few users may lock that much), before the first socket and after it.
"""
import ctypes
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
