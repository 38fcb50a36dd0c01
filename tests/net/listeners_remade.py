# SPDX-License-Identifier: BSD-2-Clause
"""listeners_remade.py serve ADDRESS PORT | ask ADDRESS PORT DIR

serve: two threads, each with a listener of its own on the same port (SO_REUSEPORT) and the connections that came by it.
ask: N connections, each of which asks all the time, but not faster than each 20 ms; DIR/told has the least number of answers that a
connection had, and the program ends, with what went wrong, when DIR/stop is there."""
import os
import select
import socket
import sys
import threading
import time

N = 24
what, addr, port = sys.argv[1], sys.argv[2], int(sys.argv[3])


def serve():
    s = socket.socket()
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    s.bind((addr, port))
    s.listen(N)
    p, conns = select.epoll(), {s.fileno(): s}
    p.register(s, select.EPOLLIN)
    while True:
        for fd, _ in p.poll():
            if fd == s.fileno():
                c, _ = s.accept()
                conns[c.fileno()] = c
                p.register(c, select.EPOLLIN)
                continue
            data = conns[fd].recv(1000)
            if not data:
                p.unregister(fd)
                conns.pop(fd).close()
            else:
                conns[fd].sendall(data)


def ask(i, counts, wrong):
    c = socket.create_connection((addr, port))
    try:
        while not os.path.exists(sys.argv[4] + "/stop"):
            want = b"%d of %d" % (counts[i], i)
            c.sendall(want)
            got = c.recv(1000)
            if got != want:
                raise OSError(f"{got} instead of {want}")
            counts[i] += 1
            time.sleep(0.02)
    except OSError as e:
        wrong.append(f"connection {i}: {e}")
    c.close()


if what == "serve":
    for _ in range(2):
        threading.Thread(target=serve, daemon=True).start()
    time.sleep(120)
    sys.exit()
counts, wrong = [0] * N, []
threads = [threading.Thread(target=ask, args=(i, counts, wrong)) for i in range(N)]
for t in threads:
    t.start()
while any(t.is_alive() for t in threads):
    with open(sys.argv[4] + "/new", "w") as f:
        f.write(f"{min(counts)}\n")
    os.rename(sys.argv[4] + "/new", sys.argv[4] + "/told")
    time.sleep(0.05)
print("; ".join(sorted(wrong)) or "all right")
