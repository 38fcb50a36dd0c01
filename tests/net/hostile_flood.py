# SPDX-License-Identifier: BSD-2-Clause
"""hostile_flood.py SOCKET DEVICE SECONDS: as root. Counts the answers that one user gets of the daemon in that time: alone,
and while four processes of another one send as many descriptors with each request as a packet takes."""
import os
import signal
import socket
import struct
import sys
import time

from leaselib import call, dial, greet, message, send

path, device, seconds = sys.argv[1:]
PORT = struct.pack("=II", socket.if_nametoindex(device), 0)


def lease(uid):
    os.seteuid(uid)
    s = dial(path)
    assert greet(s)[0] == 0
    os.seteuid(0)
    assert call(s, "UMEM")[0] == 0
    return s


def flood():
    os.setresuid(1001, 1001, 1001)
    fd = os.pipe()[1]
    while True:
        s = dial(path)
        try:
            greet(s)
            send(s, message("CLAIM", bytes(200)), [fd] * 253)
            s.recv(1)
        except OSError:
            pass
        s.close()


def answers(s):
    n, end = 0, time.monotonic() + float(seconds)
    while time.monotonic() < end:
        assert call(s, "PORT_ALIVE", PORT)[0] != "hung up"
        n += 1
        time.sleep(0.001)
    return n


honest = lease(1002)
print("alone", answers(honest), flush=True)
floods = []
for _ in range(4):
    floods.append(os.fork())
    if not floods[-1]:
        flood()
time.sleep(0.3)
print("flood", answers(honest), flush=True)
for pid in floods:
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
