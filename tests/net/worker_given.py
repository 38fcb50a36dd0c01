# SPDX-License-Identifier: BSD-2-Clause
"""worker_given.py ADDRESS PORT: a worker is forked, then this process listens, and passes what it accepts to the
worker, which echoes. The worker's process number is the first line of the output."""
import os
import socket
import sys

here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
worker = os.fork()
if not worker:
    while True:
        _, fds, _, _ = socket.recv_fds(there, 1, 1)
        if not fds:
            sys.exit(0)
        with socket.socket(fileno=fds[0]) as conn:
            while data := conn.recv(65536):
                conn.sendall(data)
there.close()
listener = socket.create_server((sys.argv[1], int(sys.argv[2])))
print(worker, flush=True)
while True:
    with listener.accept()[0] as conn:
        socket.send_fds(here, [b"x"], [conn.fileno()])
