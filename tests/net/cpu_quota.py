# SPDX-License-Identifier: BSD-2-Clause
"""cpu_quota.py server ADDRESS PORT GROUP | client ADDRESS PORT: a mostly idle server in a control group with a CPU quota.

The server moves itself into the group when it has its connection (its start is not under the quota), echoes until the
end, and leaves the group. The client asks 200 times a second for two seconds."""
import os
import select
import socket
import sys
import time

role, address, port = sys.argv[1], sys.argv[2], int(sys.argv[3])
if role == "server":
    group = sys.argv[4]
    c = socket.create_server((address, port), family=socket.AF_INET6 if ":" in address else socket.AF_INET).accept()[0]
    with open(group + "/cgroup.procs", "w") as f:
        f.write("0")
    waits = select.epoll()
    waits.register(c, select.EPOLLIN)
    while True:
        waits.poll()
        d = c.recv(100)
        if not d:
            break
        c.send(d)
    with open(os.path.dirname(group) + "/cgroup.procs", "w") as f:
        f.write("0")
else:
    s = socket.create_connection((address, port))
    s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    for _ in range(400):
        s.sendall(b"x" * 64)
        got = b""
        while len(got) < 64:
            got += s.recv(64)
        time.sleep(0.005)
    print("answered")
