# SPDX-License-Identifier: BSD-2-Clause
"""tcp_rebind.py serve|connect ADDRESS PORT HOW: a server of one connection, and its client, which ends
first. HOW contains e: the server answers every message; c: sockets are closed before the end of the program."""
import socket
import sys

role, addr, port, how = sys.argv[1:5]
s = socket.socket(socket.AF_INET6 if ":" in addr else socket.AF_INET)
if role == "serve":
    s.bind((addr, int(port)))  # without SO_REUSEADDR
    s.listen(5)
    c, _ = s.accept()
    n = 0
    while data := c.recv(65536):
        n += len(data)
        if "e" in how:
            c.send(data[:10])
    print(n, flush=True)
    if "c" in how:
        c.close()
else:
    s.connect((addr, int(port)))
    for _ in range(20):
        s.sendall(bytes(1000))
        if "e" in how:
            s.recv(10)
if "c" in how:
    s.close()
