# SPDX-License-Identifier: BSD-2-Clause
"""rules_client.py listen|connect ADDRESS PORT: listen: echoes what connections send. connect: connects a socket that
is not bound, sends some bytes, prints `ready` when they have come back, and waits for the end of its input."""
import socket
import sys

what, address, port = sys.argv[1], sys.argv[2], int(sys.argv[3])
s = socket.socket()
if what == "listen":
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    s.bind((address, port))
    s.listen()
    held = []
    while True:
        held.append(s.accept()[0])
        held[-1].sendall(held[-1].recv(100))
s.settimeout(10)
s.connect((address, port))
s.sendall(b"question")
assert s.recv(100) == b"question"
print("ready", flush=True)
sys.stdin.read()
