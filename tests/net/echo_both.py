# SPDX-License-Identifier: BSD-2-Clause
"""echo_both.py ADDRESS PORT: echoes streams and datagrams (at :: of both families); says when it is ready."""
import select
import socket
import sys

addr = sys.argv[1], int(sys.argv[2])
family = socket.AF_INET6 if ":" in addr[0] else socket.AF_INET
t = socket.create_server(addr, family=family, backlog=1024, dualstack_ipv6=addr[0] == "::")
u = socket.socket(family, socket.SOCK_DGRAM)
if addr[0] == "::":
    u.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
u.bind(addr)
p = select.epoll()
socks = {s.fileno(): s for s in (t, u)}
for fd in socks:
    p.register(fd, select.EPOLLIN)
print("ready", flush=True)
while True:
    for fd, _ in p.poll():
        s = socks[fd]
        if s is t:
            c, _ = s.accept()
            socks[c.fileno()] = c
            p.register(c.fileno(), select.EPOLLIN)
        elif s is u:
            data, to = s.recvfrom(65536)
            s.sendto(data, to)
        else:
            data = s.recv(65536)
            if data:
                s.sendall(data)
            else:
                p.unregister(fd)
                del socks[fd]
                s.close()
