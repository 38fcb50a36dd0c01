# SPDX-License-Identifier: BSD-2-Clause
"""unread.py SOCKET IFINDEX: a client that asks for descriptors and does not read the answers. Prints how many were under way
to it."""
import os
import struct
import sys

from leaselib import OPS, Session, message, receive

port = struct.pack("=II", int(sys.argv[2]), 0)
holder, other = Session(sys.argv[1]), Session(sys.argv[1])  # (the first keeps the device open)
for s in holder, other:
    s.must(OPS["UMEM"])
holder.must(OPS["PORT_OPEN"], port)
sent = 0
try:
    for _ in range(60):
        for op in "PORT_OPEN", "PORT_CLOSE":
            other.s.send(message(op, port))
        sent += 1
except OSError:
    pass
for _ in range(sent):  # the daemon has served the other session as often, unless it hung up
    holder.ask(OPS["PORT_ALIVE"], port)
other.s.settimeout(1)
n = 0
try:
    while True:
        err, _, fds = receive(other.s)
        if err == "hung up":
            break
        for fd in fds:
            os.close(fd)
        n += len(fds)
except OSError:
    pass
print(n)
