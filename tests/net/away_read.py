# SPDX-License-Identifier: BSD-2-Clause
"""away_read.py ADDRESS PORT: reads a connection until its end, with pauses in which it makes no call, prints the SHA-256 of
the bytes, and waits for a signal."""
import hashlib
import signal
import socket
import sys
import time

listener = socket.socket()
listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8 << 20)
listener.bind((sys.argv[1], int(sys.argv[2])))
listener.listen()
c, _ = listener.accept()
whole, before = hashlib.sha256(), 0
while data := c.recv(1 << 18):
    whole.update(data)
    before += len(data)
    if before > 1 << 20:
        time.sleep(0.02)
        before = 0
print(whole.hexdigest(), "", flush=True)
signal.pause()
