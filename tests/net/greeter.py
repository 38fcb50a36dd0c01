# SPDX-License-Identifier: BSD-2-Clause
"""greeter.py ADDRESS PORT: greets whoever connects with an x, and keeps the connection."""
import socket
import sys

family = socket.AF_INET6 if ":" in sys.argv[1] else socket.AF_INET
listener = socket.create_server((sys.argv[1], int(sys.argv[2])), family=family)
held = []
while True:
    held.append(listener.accept()[0])
    held[-1].sendall(b"x")
