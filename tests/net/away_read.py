# SPDX-License-Identifier: BSD-2-Clause
"""away_read.py ADDRESS PORT BYTES SECONDS: reads a connection until its end, with a pause of so many seconds after each so
many bytes, in which it makes no call, prints the SHA-256 of the bytes, and waits for a signal."""
import hashlib
import signal
import socket
import sys
import time

address, port, some, pause = sys.argv[1:]
listener = socket.socket()
listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8 << 20)
listener.bind((address, int(port)))
listener.listen()
c, _ = listener.accept()
whole, before = hashlib.sha256(), 0
while data := c.recv(1 << 18):
    whole.update(data)
    before += len(data)
    if before > int(some):
        time.sleep(float(pause))
        before = 0
print(whole.hexdigest(), "", flush=True)
signal.pause()
