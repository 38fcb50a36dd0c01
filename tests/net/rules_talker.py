# SPDX-License-Identifier: BSD-2-Clause
"""rules_talker.py ADDRESS PORT GREETED: connects, then sends and receives without end; makes the file GREETED once
the connection is answered."""
import socket
import sys
import time

c = socket.create_connection((sys.argv[1], int(sys.argv[2])), timeout=20)
assert c.recv(1) == b"x"
open(sys.argv[3], "w").close()
n = 0
while True:
    asked = b"%d" % n
    c.sendall(asked)
    got = b""
    while len(got) < len(asked):
        got += c.recv(1000)
    assert got == asked, (got, asked)
    n += 1
    time.sleep(0.02)
