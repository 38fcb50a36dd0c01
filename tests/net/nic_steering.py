#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""ADDR PEER PORT: echoes datagrams at ports 7000 to 7002, and at 7020 by two sockets; accepts at 7010; connects to PEER PORT.
Prints its process id when it is ready. A line on stdin closes the socket of 7002."""
import os
import select
import socket
import sys

addr, peer = sys.argv[1], (sys.argv[2], int(sys.argv[3]))


def bound(port, *options):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    for option in options:
        s.setsockopt(socket.SOL_SOCKET, option, 1)
    s.bind((addr, port))
    return s


socks = [bound(port) for port in (7000, 7001, 7002)] + [bound(7020, socket.SO_REUSEPORT) for _ in range(2)]
listener = socket.create_server((addr, 7010))
to = socket.create_connection(peer, 10)
streams = []
print(os.getpid(), flush=True)
while True:
    for s in select.select(socks + [listener, sys.stdin] + streams, [], [])[0]:
        if s is listener:
            streams.append(s.accept()[0])
        elif s is sys.stdin:
            if sys.stdin.readline():
                socks.pop(2).close()
                print("closed", flush=True)
        elif s in streams:
            data = s.recv(65536)
            if data:
                s.sendall(data)
            else:
                streams.remove(s)
                s.close()
        else:
            data, who = s.recvfrom(65536)
            s.sendto(data, who)
