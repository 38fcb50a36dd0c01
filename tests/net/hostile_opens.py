# SPDX-License-Identifier: BSD-2-Clause
"""hostile_opens.py SOCKET DEVICE SECONDS: as root. Counts the answers that one user gets of the daemon in that time: alone,
while another one opens and closes the device without a pause, and while it does so with a lane."""
import os
import signal
import socket
import struct
import sys
import time

from leaselib import call, dial, greet

path, device, seconds = sys.argv[1:]
PORT = struct.pack("=II", socket.if_nametoindex(device), 0)
BURST = 0.75  # seconds in which a user may open as fast as it can


def lease(uid):
    os.seteuid(uid)
    s = dial(path)
    assert greet(s)[0] == 0
    os.seteuid(0)
    assert call(s, "UMEM")[0] == 0
    return s


def open_and_close(s, what):
    while True:
        call(s, what + "_OPEN", PORT)
        call(s, what + "_CLOSE", PORT)


def answers(s):
    n, end = 0, time.monotonic() + float(seconds)
    while time.monotonic() < end:
        assert call(s, "PORT_ALIVE", PORT)[0] != "hung up"
        n += 1
        time.sleep(0.001)
    return n


honest = lease(1002)
print("alone", answers(honest), flush=True)
for what in "PORT", "LANE":
    attacker = os.fork()
    if not attacker:
        s = lease(1001)
        if what == "LANE":
            call(s, "PORT_OPEN", PORT)
        open_and_close(s, what)
    time.sleep(BURST)
    print(what, answers(honest), flush=True)
    os.kill(attacker, signal.SIGKILL)
    os.waitpid(attacker, 0)
