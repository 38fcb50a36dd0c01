# SPDX-License-Identifier: BSD-2-Clause
"""flows_full.py ADDRESS PORT COUNT FILE: connects COUNT streams and COUNT datagram sockets to an echo server, says how
many of each were answered, and ends when FILE is there."""
import os
import resource
import socket
import sys
import time

to, count = (sys.argv[1], int(sys.argv[2])), int(sys.argv[3])
hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 2 * count + 200), hard))


def answered(socks):
    """How many sockets get their own number back."""
    right = 0
    for i, s in enumerate(socks):
        s.settimeout(20)
        s.send(b"%05d" % i)
        right += s.recv(5) == b"%05d" % i
    return right


held = []
for kind in socket.SOCK_DGRAM, socket.SOCK_STREAM:
    socks = []
    for _ in range(count):
        s = socket.socket(socket.AF_INET, kind)
        s.connect(to)
        socks.append(s)
    print(answered(socks), flush=True)
    held += socks
while not os.path.exists(sys.argv[4]):
    time.sleep(0.01)
