# SPDX-License-Identifier: BSD-2-Clause
"""away_send.py ADDRESS PORT FILE: sends the file, and waits for the peer's end."""
import socket
import sys

s = socket.create_connection((sys.argv[1], int(sys.argv[2])))
with open(sys.argv[3], "rb") as f:
    s.sendall(f.read())
s.shutdown(socket.SHUT_WR)
