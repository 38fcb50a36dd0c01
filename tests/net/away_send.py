# SPDX-License-Identifier: BSD-2-Clause
"""away_send.py ADDRESS PORT FILE: sends the file, waits for the acknowledgment of its end, and prints how many segments were
sent again."""
import socket
import struct
import sys
import time

s = socket.create_connection((sys.argv[1], int(sys.argv[2])))
with open(sys.argv[3], "rb") as f:
    s.sendall(f.read())
s.shutdown(socket.SHUT_WR)
FIN_WAIT2 = 5
info = b"\0"
while info[0] != FIN_WAIT2:
    time.sleep(0.01)
    info = s.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 104)
print(struct.unpack_from("I", info, 100)[0])
