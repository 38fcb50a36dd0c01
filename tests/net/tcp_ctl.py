# SPDX-License-Identifier: BSD-2-Clause
"""tcp_ctl.py call PEER PORT N: N clients at once, each asks, waits for the echo, and sends on after a pause; four times.
tcp_ctl.py serve OWN PEER PORT SLUICE N FILE: echoes to them in one thread that never sleeps, and writes what the keeper did."""
import sys

if sys.argv[1] == "call":
    import time
    from netlib import *
    n = int(sys.argv[4])
    for turn in range(4):
        clients = [socket.create_connection((sys.argv[2], int(sys.argv[3])), TIMEOUT) for i in range(n)]
        for i, c in enumerate(clients):
            c.sendall(b"%08d" % i)
        for i, c in enumerate(clients):
            assert c.recv(8, socket.MSG_WAITALL) == b"%08d" % i
            c.sendall(b"!")  # not answered: the acknowledgement is a timer's
        time.sleep(0.2)
        for c in clients:
            c.close()
    sys.exit()
import time
from settings_own import *

n = int(sys.argv[6])
server = socket.create_server((own, port), backlog=64)
server.setblocking(False)
sets, left, wrong = select.epoll(), 4 * n, 0
sets.register(server, select.EPOLLIN)
out = open(sys.argv[7], "w", buffering=1)
print("listens", file=out)
at = {}
end = time.monotonic() + 60
while left and time.monotonic() < end:
    for fd, what in sets.poll(0):
        if fd == server.fileno():
            c = server.accept()[0]
            c.setblocking(False)
            at[c.fileno()] = c
            sets.register(c, select.EPOLLIN)
            continue
        data = at[fd].recv(8)
        if len(data) == 8:
            at[fd].sendall(data)
        elif data != b"!":
            wrong += data != b""
            left -= 1
            at.pop(fd).close()
lanes = stat()["lanes"]
segs, timers, own_timers = (sum(l[x] for l in lanes) for x in ("tcp_ctl_segs", "tcp_timers", "keeper_timers"))
print("%d left, %d wrong, %s segments by the keeper, %s timers" %
      (left, wrong, "all" if segs >= 7 * n else segs, "all" if own_timers == timers > 0 else "not all"), file=out)
