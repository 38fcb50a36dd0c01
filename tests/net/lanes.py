# SPDX-License-Identifier: BSD-2-Clause
"""lanes.py serve ADDRESS PORT | ask ADDRESS PORT SOCKETS TIMES: each of SOCKETS sockets asks TIMES times, in turn,
and must get its answer."""
import socket
import sys

addr, port = sys.argv[2], int(sys.argv[3])


def udp():
    s = socket.socket(socket.AF_INET6 if ":" in addr else socket.AF_INET, socket.SOCK_DGRAM)
    s.settimeout(3)
    return s


if sys.argv[1] == "serve":
    s = udp()
    s.settimeout(None)
    s.bind((addr, port))
    while True:
        s.sendto(*s.recvfrom(100))
sockets = [udp() for i in range(int(sys.argv[4]))]
for s in sockets:
    s.connect((addr, port))
asked = lost = 0
for turn in range(int(sys.argv[5])):
    for s in sockets:
        asked += 1
        s.send(b"%d" % asked)
        try:
            while int(s.recv(100)) != asked:  # (late ones, after one that was lost)
                pass
        except socket.timeout:
            lost += 1
            if lost > 2:
                sys.exit(f"{lost} answers are missing after {asked} questions")
print(asked)
