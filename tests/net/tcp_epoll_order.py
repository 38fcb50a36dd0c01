# SPDX-License-Identifier: BSD-2-Clause
"""tcp_epoll_order.py OWN PEER FAR: in which order an epoll set tells of its members, and no edge is told twice."""
from tcplib import *

own, peer, far = start()
six = is6(own)
listener = far.tcp(peer, 7000, 50)
IN, OUT, ET = select.EPOLLIN, select.EPOLLOUT, select.EPOLLET


def connected():
    s = tcp(six=six)
    s.connect((peer, 7000))
    return s, listener.accept()[0]


def told(ep, most=-1):
    return [names[fd] for fd, _ in ep.poll(0, most)]


# Members that become ready in another order than that in which they were added.
pairs = [connected() for _ in range(4)]
names = {s.fileno(): i for i, (s, _) in enumerate(pairs)}
for how in (0, ET):
    ep = select.epoll()
    for s, _ in pairs:
        ep.register(s, IN | how)
    for i in (2, 0, 3, 1):
        pairs[i][1].send(b"x")
        arrived(pairs[i][0], 1)
    print("edge" if how else "level", told(ep), told(ep), [told(ep, 1) for _ in range(5)])
    for s, _ in pairs:
        s.recv(1)
    ep.close()

# Numbers of one socket.
s, f = connected()
copies = [s.dup() for _ in range(3)]
names = {c.fileno(): i for i, c in enumerate(copies)}
ep = select.epoll()
for c in copies:
    ep.register(c, IN)
f.send(b"x")
arrived(s, 1)
print("copies", told(ep))

# A datagram socket that is a member when it gets its peer, and another one.
u = socket.socket(socket.AF_INET6 if six else socket.AF_INET, socket.SOCK_DGRAM)
names = {u.fileno(): "u"}
ep = select.epoll()
ep.register(u, IN | OUT | ET)
print("new", told(ep), told(ep))
for port in (7001, 7002):
    u.connect((peer, port))
    print("connected", told(ep))
