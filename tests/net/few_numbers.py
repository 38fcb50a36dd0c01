# SPDX-License-Identifier: BSD-2-Clause
"""few_numbers.py CALL PEER: calls that concern all numbers of a process, in one that has few; says whether its memory grows.

The library's table has a place for each of a million numbers (8 MB). To read all of it takes tens of milliseconds,
which a program notices in each of these calls, the first time.
"""
import ctypes
import os
import socket
import sys

LIBC = ctypes.CDLL(None, use_errno=True)


def resident_kb():
    with open("/proc/self/status") as f:
        return sum(int(line.split()[1]) for line in f if line.startswith(("RssAnon:", "RssShmem:")))


def step(what, call, *args):
    before = resident_kb()
    call(*args)
    grown = resident_kb() - before
    print(what, "a little more memory" if grown < 4096 else f"{grown} KB more memory")


def spawn():
    pid = os.posix_spawn("/bin/true", ["true"], os.environ)
    assert os.waitpid(pid, 0)[1] == 0


s = socket.create_connection((sys.argv[2], 7000))
s.sendall(b"x")
assert s.recv(1) == b"x"
case = {
    "close_range": lambda: LIBC.close_range(100, 0xFFFFFFFF, 0),
    "spawn": spawn,
    "dup2": lambda: os.dup2(s.fileno(), 0),
}
step(sys.argv[1], case[sys.argv[1]])
s.sendall(b"y")
assert s.recv(1) == b"y"
