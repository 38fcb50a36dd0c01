# SPDX-License-Identifier: BSD-2-Clause
"""lease_change.py ADDRESS PORT FILE: one TCP connection to an echo server, with checked messages, however long an
answer takes. FILE gets the number of answers, or what went wrong."""
import os
import socket
import sys
import time

address, port, path = sys.argv[1], int(sys.argv[2]), sys.argv[3]


def tell(text):
    with open(path + ".new", "w") as f:
        f.write(text)
    os.rename(path + ".new", path)


c = socket.create_connection((address, port))
n = 0
try:
    while True:
        data = bytes((n * 7 + i) % 251 for i in range(251)) * 12
        c.sendall(data)
        got = b""
        while len(got) < len(data):
            piece = c.recv(len(data) - len(got))
            if not piece:
                raise ConnectionError("it has ended")
            got += piece
        if got != data:
            raise ValueError("bytes are wrong")
        n += 1
        tell(str(n))
        time.sleep(0.005)
except (OSError, ValueError) as e:
    tell(repr(e))
