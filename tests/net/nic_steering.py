#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""ADDR PEER PORT: echoes datagrams at ports 7000 to 7002, and at 7020 by two sockets; accepts at 7010; connects to PEER PORT.
Prints its process id when it is ready. "close" on stdin closes the socket of 7002 and one of 7020, "share" makes a new
one there.
ask ADDR PORT N: N clients, each of a port of its own, send a datagram there; prints how many got it back."""
import os
import select
import socket
import sys

if sys.argv[1] == "ask":
    asks = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(int(sys.argv[4]))]
    good = 0
    for i, s in enumerate(asks):
        s.settimeout(2)
        s.sendto(b"%d" % i, (sys.argv[2], int(sys.argv[3])))
        good += s.recv(100) == b"%d" % i
    print(good)
    sys.exit()
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
            what = sys.stdin.readline()
            if what == "close\n":
                socks.pop(2).close()
                socks.pop().close()
            elif what:
                socks.append(bound(7020, socket.SO_REUSEPORT))
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
