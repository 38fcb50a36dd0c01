# SPDX-License-Identifier: BSD-2-Clause
"""tcp_refused.py ADDRESS PORT connect|stale: which connections the host there refuses, and whether at once. stale:
with a segment of a connection that the host does not know."""
import socket
import sys
import time

SOON = 2  # seconds; resets that are held back stay so for at least five
TCP_REPAIR = 19
address, port, how = sys.argv[1], int(sys.argv[2]), sys.argv[3]
s = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET)
s.settimeout(20)
if how == "stale":
    s.setsockopt(socket.IPPROTO_TCP, TCP_REPAIR, 1)
    s.connect((address, port))  # (without telling its peer)
    s.setsockopt(socket.IPPROTO_TCP, TCP_REPAIR, 0)
begun = time.monotonic()
try:
    if how == "stale":
        s.send(b"x")
        s.recv(1)
    else:
        s.connect((address, port))
    said = "nothing"
except OSError as e:
    said = type(e).__name__
took = time.monotonic() - begun
print(said, "at once" if took < SOON else "after %.1f s" % took)
