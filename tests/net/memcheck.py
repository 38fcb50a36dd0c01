# SPDX-License-Identifier: BSD-2-Clause
"""memcheck.py ADDR PORT: asks memcheck.c for 200,000 bytes by TCP and 20 datagrams, and checks them."""
import os
import socket
import sys
import threading

to = sys.argv[1], int(sys.argv[2])
data = os.urandom(200000)
with socket.create_connection(to, 30) as s:
    threading.Thread(target=lambda: (s.sendall(data), s.shutdown(socket.SHUT_WR))).start()
    got = b"".join(iter(lambda: s.recv(65536), b""))
print("TCP", got == data)
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as u:
    u.settimeout(10)
    good = 0
    for n in range(19, -1, -1):
        u.sendto(data[:n * 50], to)
        good += u.recv(9999) == data[:n * 50]
print("UDP", good)
