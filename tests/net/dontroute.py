# SPDX-License-Identifier: BSD-2-Clause
"""dontroute.py NEAR FAR PORT: a host on the link and one behind a gateway, with SO_DONTROUTE, and after it was taken
back. Both are the peer, which echoes."""
from netlib import *

near, far, port = sys.argv[1], sys.argv[2], int(sys.argv[3])


def tcp(host, on):
    s = socket.socket()
    s.settimeout(10)
    for v in on:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_DONTROUTE, v)
    s.connect((host, port))
    s.send(b"x")
    return s.recv(1)


def datagram(host, on):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.settimeout(10)
    for v in on:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_DONTROUTE, v)
    s.sendto(b"x", (host, port))
    s.sendto(b"y", socket.MSG_DONTROUTE, (host, port))
    return s.recv(1)


for host in near, far:
    for on in (), (1,), (1, 0):
        say(host == near, on, attempt(tcp, host, on), attempt(datagram, host, on))
