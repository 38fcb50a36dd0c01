# SPDX-License-Identifier: BSD-2-Clause
"""vforked.py HOST PORT: the peer of vforked.c: says what comes back."""
import socket
import sys
import time

s = socket.create_connection((sys.argv[1], int(sys.argv[2])))
s.settimeout(10)
s.sendall(b"one.")
time.sleep(0.2)
s.sendall(b"two.")
got = b""
try:
    while piece := s.recv(100):
        got += piece
except OSError as e:
    got += str(e).encode()
print(got)
