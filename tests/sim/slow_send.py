# SPDX-License-Identifier: BSD-2-Clause
"""slow_send.py ADDRESS PORT FILE [PIECE]: sends the file; in its middle says so by FILE.half, and goes on when that
is gone. With PIECE it sends as many bytes each 10 ms while FILE.slow, which it makes, is there, and then the rest."""
import os
import socket
import sys
import time

data = open(sys.argv[3], "rb").read()
half, slow = sys.argv[3] + ".half", sys.argv[3] + ".slow"
at = 0
s = socket.create_connection((sys.argv[1], int(sys.argv[2])))
if len(sys.argv) > 4:
    piece = int(sys.argv[4])
    open(slow, "w").close()
    while os.path.exists(slow) and at < len(data):
        s.sendall(data[at:at + piece])
        at += piece
        time.sleep(0.01)
else:
    at = len(data) // 2
    s.sendall(data[:at])
    open(half, "w").close()
    while os.path.exists(half):
        time.sleep(0.01)
s.sendall(data[at:])
s.shutdown(socket.SHUT_WR)
s.recv(1)
