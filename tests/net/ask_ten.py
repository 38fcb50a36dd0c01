# SPDX-License-Identifier: BSD-2-Clause
"""ask_ten.py ADDRESS: asks port 7000 ten times by UDP, and checks the echo."""
import socket
import sys

s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.settimeout(10)
s.connect((sys.argv[1], 7000))
for i in range(10):
    s.send(b"x" * (i * 100))
    assert s.recv(2048) == b"x" * (i * 100)
