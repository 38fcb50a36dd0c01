# SPDX-License-Identifier: BSD-2-Clause
"""asked.py SOCKET SECONDS: how many requests (STATUS) the daemon answers in that time, one after the other."""
import sys
import time

from leaselib import dial, message

request, path = message("STATUS"), sys.argv[1]
s, n, end = dial(path), 0, time.monotonic() + float(sys.argv[2])
while time.monotonic() < end:
    s.send(request)
    if s.recv(4096):
        n += 1
    else:  # (a connection without a lease lasts two seconds)
        s = dial(path)
    time.sleep(0.001)
print(n)
