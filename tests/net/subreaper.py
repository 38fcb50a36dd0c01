# SPDX-License-Identifier: BSD-2-Clause
"""subreaper.py ADDRESS PORT: a child subreaper (PR_SET_CHILD_SUBREAPER) with an offloaded socket waits
for all its children: for the child, and for the grandchild that the child leaves to it."""
import ctypes
import os
import signal
import socket
import sys

PR_SET_CHILD_SUBREAPER, PR_GET_CHILD_SUBREAPER = 36, 37
libc = ctypes.CDLL(None)
libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.settimeout(5)
s.connect((sys.argv[1], int(sys.argv[2])))
s.send(b"question")
print(s.recv(100))
is_one = ctypes.c_int()
libc.prctl(PR_GET_CHILD_SUBREAPER, ctypes.byref(is_one), 0, 0, 0)
print("subreaper", is_one.value)
if not (child := os.fork()):
    r, w = os.pipe()
    if not os.fork():
        os.close(w)
        os.read(r, 1)  # until its parent has gone
        os._exit(8)
    os._exit(7)
signal.alarm(20)  # no other child is left to wait for
ended = []
try:
    while True:
        ended.append(os.WEXITSTATUS(os.wait()[1]))
except ChildProcessError:
    print([e for e in ended if e])  # (the shell that this process was before exec may have had some)
