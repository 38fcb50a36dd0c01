# SPDX-License-Identifier: BSD-2-Clause
"""slow_send.py ADDRESS PORT FILE: sends the file; in its middle says so by FILE.half, and goes on when that
is gone."""
import os
import socket
import sys
import time

data = open(sys.argv[3], "rb").read()
half = sys.argv[3] + ".half"
s = socket.create_connection((sys.argv[1], int(sys.argv[2])))
s.sendall(data[:len(data) // 2])
open(half, "w").close()
while os.path.exists(half):
    time.sleep(0.01)
s.sendall(data[len(data) // 2:])
s.shutdown(socket.SHUT_WR)
s.recv(1)
