# SPDX-License-Identifier: BSD-2-Clause
"""capture_ask.py OWN PEER PORT N OWN-PORT...: from each own port N datagrams of 64 bytes to the echo at PEER:PORT, and their
answers."""
import socket
import sys

own, peer, port, n, *ports = sys.argv[1:]
for p in ports:
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.settimeout(5)
    s.bind((own, int(p)))
    s.connect((peer, int(port)))
    for i in range(int(n)):
        s.send(b"%064d" % i)
        if s.recv(100) != b"%064d" % i:
            sys.exit(f"{p}: {i} is not what was sent")
