# SPDX-License-Identifier: BSD-2-Clause
"""receive_lanes.py serve ADDRESS PORT THREADS | ask ADDRESS PORT N: threads, each with a listener of its own on the same
port (SO_REUSEPORT), that says its number to each connection; ask prints how many connections were answered, and by how
many threads."""
import socket
import sys
import threading

addr, port, n = sys.argv[2], int(sys.argv[3]), int(sys.argv[4])


def serve(number):
    s = socket.socket()
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    s.bind((addr, port))
    together.wait()
    s.listen(64)
    ready.wait()
    kept = []
    while True:
        c, _ = s.accept()
        c.sendall(b"%d\n" % number)
        kept.append(c)


if sys.argv[1] == "serve":
    together, ready = threading.Barrier(n), threading.Barrier(n + 1)
    for i in range(n):
        threading.Thread(target=serve, args=(i,), daemon=True).start()
    ready.wait()
    print("ready", flush=True)
    threading.Event().wait()
answered, kept = [], []
for i in range(n):
    try:
        c = socket.create_connection((addr, port), timeout=3)
        answered.append(c.recv(10))
        kept.append(c)
    except OSError:
        pass
print(len(answered), len(set(answered)))
