# SPDX-License-Identifier: BSD-2-Clause
# Tests everything that waits for completions of the NIC, though most packets have none: `settle.py ADDRESS PORT`.
# Prints a line for each that has come to its end.
import fcntl
import glob
import os
import select
import socket
import struct
import sys
import termios
import time

PATIENCE = 10

to = (sys.argv[1], int(sys.argv[2]))


def udp():
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.connect(to)
    s.send(b"first")  # the kernel's, perhaps: it asks for the neighbour
    s.recv(100)
    s.settimeout(PATIENCE)
    return s


def unsent(s):
    return struct.unpack("i", fcntl.ioctl(s, termios.TIOCOUTQ, b"\0" * 4))[0]


def until(what):
    end = time.monotonic() + PATIENCE
    while not what():
        if time.monotonic() > end:
            return False
        time.sleep(0.001)
    return True


# Context switches of the internal thread, so far.
def rounds():
    for task in glob.glob("/proc/self/task/*"):
        if open(task + "/comm").read() == "sluice\n":
            status = open(task + "/status").read()
            return status[status.index("voluntary_ctxt_switches") :]


def descriptors():
    return len(os.listdir("/proc/self/fd"))


def asleep():
    before = rounds()
    time.sleep(1.2)
    return rounds() == before


# Five packets, which nothing follows.
s = udp()
for n in range(5):
    s.send(b"x" * 300)
print("nothing is unsent" if until(lambda: unsent(s) == 0) else "unsent: %d" % unsent(s), flush=True)

# A send buffer that two packets fill: blocking, then by poll().
s = udp()
s.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1)
for n in range(200):
    s.send(b"x" * 1400)
s.setblocking(False)
sent = 0
poll = select.poll()
poll.register(s, select.POLLOUT)
while sent < 200 and poll.poll(PATIENCE * 1000):
    try:
        s.send(b"x" * 1400)
        sent += 1
    except BlockingIOError:
        pass
print("sent", sent, flush=True)

# Question and answer, one at a time: no completion is waited for.
sys.stdin.readline()
s = udp()
for n in range(1000):
    s.send(b"x" * 20)
    s.recv(100)
print("answered", flush=True)
before = descriptors()
# The NIC fails completions that are asked for, not the packets. (Of two packets one may have a completion anyway.)
sys.stdin.readline()
for n in range(3):
    s.send(b"once")
    s.send(b"twice")
    until(lambda: unsent(s) == 0)
answers = 0
while select.select([s], [], [], 1)[0]:
    s.recv(100)
    answers += 1
print("answers", answers, flush=True)
# And nobody asks, nor is anybody awake: the internal thread is, in time.
sys.stdin.readline()
print("asleep" if until(asleep) else "awake", flush=True)
sys.stdin.readline()
s.send(b"into a queue that stands still")
sys.stdin.readline()
s.send(b"into one that is gone")
sys.stdin.readline()
print("asleep again" if until(asleep) else "awake", flush=True)
# So are their descriptors (and that of the directory that the library looks through once, perhaps).
sys.stdin.readline()
print("no more descriptors" if until(lambda: descriptors() <= before) else descriptors(), flush=True)
sys.stdin.readline()
