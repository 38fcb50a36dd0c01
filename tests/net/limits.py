#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""A program with narrow resource limits: limits.py WHAT PEER PORT [LIMIT].

echo: a connected UDP socket and a reflector; how many answers came.
many: under a hard limit of descriptors, sockets until there are no more; and the first one's answers.
"""

import resource
import signal
import socket
import sys

signal.signal(signal.SIGXFSZ, signal.SIG_DFL)  # python ignores it
what, peer, port = sys.argv[1], sys.argv[2], int(sys.argv[3])


def connected():
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.settimeout(5)
    s.connect((peer, port))
    return s


def answers(s, n):
    got = 0
    for i in range(n):
        s.send(b"%d" % i)
        got += s.recv(100) == b"%d" % i
    return got


if what == "many":
    limit = int(sys.argv[4])
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
    sockets = []
    try:
        while True:
            sockets.append(connected())
    except OSError as e:
        print("sockets", len(sockets), "numbers", sockets[0].fileno(), "to", sockets[-1].fileno(), e)
    print("answers", answers(sockets[0], 20))
else:
    print("answers", answers(connected(), 20))
