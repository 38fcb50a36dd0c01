# SPDX-License-Identifier: BSD-2-Clause
"""tcp_refused.py ADDRESS PORT connect|stale: who is told no by the host there, and whether at once. stale: with a
connection that the host knows nothing of."""
import socket
import sys
import time

SOON = 2  # seconds; what is held back is so for five, at least
TCP_REPAIR = 19
address, port, how = sys.argv[1], int(sys.argv[2]), sys.argv[3]
s = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET)
s.settimeout(20)
if how == "stale":
    s.setsockopt(socket.IPPROTO_TCP, TCP_REPAIR, 1)
    s.connect((address, port))  # (without a word to anybody)
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
