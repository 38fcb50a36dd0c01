# SPDX-License-Identifier: BSD-2-Clause
"""classes.py send PEER: for each line that comes, datagrams of priorities 0, 2 and 5 and a stream of priority 5.
answer ADDR: the peer."""
import threading

from netlib import *

SO_PRIORITY = 12


def send(peer):
    socks = []
    for prio in 0, 2, 5:
        s = udp(peer, None)
        s.settimeout(None)
        s.setsockopt(socket.SOL_SOCKET, SO_PRIORITY, prio)
        socks.append(s)
    c = socket.socket()
    c.setsockopt(socket.SOL_SOCKET, SO_PRIORITY, 5)
    c.connect((peer, 7002))
    for s in socks:  # (opens the device, and resolves the neighbour)
        s.sendto(b"first", (peer, 7000))
    say("ready")
    while sys.stdin.readline():
        for n, s in zip((100, 200, 300), socks):
            for _ in range(n):
                s.sendto(b"datagram", (peer, 7000))
        for _ in range(400):
            c.sendall(b"piece")
            c.recv(1)  # each piece is a segment
        say("sent")


def answer(addr):
    s, sink = socket.create_server((addr, 7002)), udp(addr, 7000)
    say("ready")
    c, _ = s.accept()
    while c.recv(5, socket.MSG_WAITALL):
        c.sendall(b"k")
    del sink


send(sys.argv[2]) if sys.argv[1] == "send" else answer(sys.argv[2])
