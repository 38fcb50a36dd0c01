# SPDX-License-Identifier: BSD-2-Clause
"""away_read.py ADDRESS PORT BYTES SECONDS BUFFER: reads a connection until its end by a receive buffer of twice so many
bytes (BUFFER), with a pause of so many seconds after each so many bytes, in which it makes no call, prints the SHA-256 of
the bytes, and waits for a signal."""
import hashlib
import signal
import socket
import sys
import time

SO_RCVBUFFORCE = 33
address, port, some, pause, buffer = sys.argv[1:]
listener = socket.socket()
listener.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, int(buffer))
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
