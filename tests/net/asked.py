# SPDX-License-Identifier: BSD-2-Clause
"""asked.py SOCKET SECONDS: how many requests (STATUS) the daemon answers in that time, one after the other."""
import socket
import struct
import sys
import time

from leaselib import MAGIC, OPS, VERSION

request = struct.pack("=IHHIi", MAGIC, VERSION, OPS["STATUS"], 1, 0)


def dial():
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    s.settimeout(20)
    s.connect(sys.argv[1])
    return s


s, n, end = dial(), 0, time.monotonic() + float(sys.argv[2])
while time.monotonic() < end:
    s.send(request)
    if s.recv(4096):
        n += 1
    else:  # (a connection without a lease lasts two seconds)
        s = dial()
    time.sleep(0.001)
print(n)
