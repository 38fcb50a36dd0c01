# SPDX-License-Identifier: BSD-2-Clause
"""udp_order.py ADDRESS PORT FILE N: receives N numbered datagrams, counts them in FILE, one a line.
udp_order.py OWN PEER PORT GO: sends 20 of them at once by the kernel, 40 a millisecond apart, and, when the
file GO is there, 40 more."""
import os
import socket
import struct
import sys
import time

from netlib import say, udp


def receive(address, port, file, n):
    s = udp(address, port)
    with open(file, "w", buffering=1) as out:
        for i in range(n):
            (number,) = struct.unpack_from("I", s.recv(2000))
            if number != i:
                say("number", number, "came as", i)
                out.write("wrong\n60\n")
                sys.exit(1)
            out.write("%d\n" % (i + 1))


def send(own, peer, port, go):
    s = udp(own)
    for i in range(100):
        if i == 60:
            while not os.path.exists(go):
                time.sleep(0.002)
        flags = socket.MSG_DONTROUTE if i < 20 else 0
        s.sendto(struct.pack("I", i) + bytes(800), flags, (peer, port))
        if not flags:
            time.sleep(0.001)


if sys.argv[2].isdigit():
    receive(sys.argv[1], int(sys.argv[2]), sys.argv[3], int(sys.argv[4]))
else:
    send(sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4])
