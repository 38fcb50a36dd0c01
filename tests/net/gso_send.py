# SPDX-License-Identifier: BSD-2-Clause
"""gso_send.py ADDRESS PORT FILE: sends the first half of the file and prints `half`; after a line on standard input
sends the second half, and prints `sent` when the peer has closed. Then it waits for a signal."""
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
