# SPDX-License-Identifier: BSD-2-Clause
# Closes all descriptors there are, in every way, before and between questions: `closing.py ADDRESS PORT`. It
# begins with the second line of its input, and sends some datagrams until the first one.
import ctypes
import os
import select
import socket
import sys

to = (sys.argv[1], int(sys.argv[2]))
libc = ctypes.CDLL(None)
END = 3000  # where the library's own are, too


def by_loop():
    for fd in range(3, END):
        try:
            os.close(fd)
        except OSError:
            pass


def by_replacing():
    for fd in range(3, END):
        try:
            os.dup2(0, fd)
        except OSError:
            pass
    by_loop()


def ask():
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    number = s.fileno()
    s.settimeout(5)
    s.connect(to)
    answers = 0
    for n in range(100):
        s.send(b"%d" % n)
        answers += s.recv(100) == b"%d" % n
    s.detach()  # whoever closes all closes it, too
    return number, answers


ways = {
    "closefrom": lambda: libc.closefrom(3),
    "close_range": lambda: libc.close_range(3, 0xFFFFFFFF, 0),
    "closerange": lambda: os.closerange(3, END),
    "a loop": by_loop,
    "dup2": by_replacing,
}
libc.closefrom(3)
while not select.select([0], [], [], 0.02)[0]:
    ask()
    libc.closefrom(3)
os.read(0, 1)
print("found its way", flush=True)
os.read(0, 1)
for name, close_all in ways.items():
    print("before", name, *ask(), flush=True)
    close_all()
    print("after", name, *ask(), flush=True)
    libc.closefrom(3)
