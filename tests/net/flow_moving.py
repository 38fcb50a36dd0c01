# SPDX-License-Identifier: BSD-2-Clause
"""flow_moving.py ADDRESS PORT DIR: after poll(2) has reported bytes, reads by non-blocking calls while the connection
is handed back to the kernel (the file DIR/go says when). Prints what it has read."""
import os
import select
import socket
import sys
import time

address, port, where = sys.argv[1], int(sys.argv[2]), sys.argv[3]
server = socket.create_server((address, port))
conn = server.accept()[0]
poll = select.poll()
poll.register(conn, select.POLLIN)
poll.poll()
print("told", flush=True)
while not os.path.exists(where + "/go"):
    time.sleep(0.01)
got = []
for size in (3, 100, 100):
    poll.poll()
    try:
        got.append(conn.recv(size, socket.MSG_DONTWAIT).decode())
    except OSError as e:
        got.append(repr(e))
print("got", got, flush=True)
