# SPDX-License-Identifier: BSD-2-Clause
"""gso_send.py ADDRESS PORT FILE: sends the file, the second half when it is told so on its standard input, and says
`half` and `sent` when the peer has it. Then it stays."""
import signal
import socket
import sys

address, port, name = sys.argv[1:]
s = socket.create_connection((address, int(port)))
with open(name, "rb") as f:
    data = f.read()
s.sendall(data[:len(data) // 2])
print("half", flush=True)
sys.stdin.readline()
s.sendall(data[len(data) // 2:])
s.shutdown(socket.SHUT_WR)
assert s.recv(1) == b""
print("sent", flush=True)
signal.pause()
