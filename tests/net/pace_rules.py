# SPDX-License-Identifier: BSD-2-Clause
"""Sends datagrams to ADDR PORT as fast as the socket takes them, in blocking calls, and writes a line with the bytes
of each tenth of a second to the standard output."""
import socket
import sys
import time

s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 8192)
s.connect((sys.argv[1], int(sys.argv[2])))
sent, then, end = 0, time.monotonic(), time.monotonic() + 60
while time.monotonic() < end:
    try:
        sent += s.send(bytes(1000))
    except ConnectionRefusedError:
        pass
    now = time.monotonic()
    if now - then >= 0.1:
        print(int(sent / (now - then)), flush=True)
        sent, then = 0, now
