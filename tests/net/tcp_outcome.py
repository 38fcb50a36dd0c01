# SPDX-License-Identifier: BSD-2-Clause
"""tcp_outcome.py OWN PEER FAR: the second connect(2) of a socket that does not wait tells of the outcome, also when the
socket has become the kernel's meanwhile; and the end of TCP_CORK ends MSG_MORE."""
from tcplib import *

own, peer, far = start()
six = is6(own)
listener = far.tcp(peer, 7000, 50)
NSD = 0x894B  # SIOCOUTQNSD


def unsent(s):
    return struct.unpack("i", fcntl.ioctl(s, NSD, bytes(4)))[0]


def peek_off(s):
    s.setsockopt(socket.SOL_SOCKET, 42, -1)


def printed(s):
    return raw("dprintf", s.fileno(), b"x")


for between in (lambda s: None, peek_off, printed, lambda s: s.send(b"x"), lambda s: s.shutdown(socket.SHUT_WR)):
    s = tcp(six=six)
    s.setblocking(False)
    first = s.connect_ex((peer, 7000))
    f = listener.accept()[0]
    select.select([], [s], [], 5)
    between(s)
    print(first, [s.connect_ex((peer, 7000)) for _ in range(3)])

# The peer has reset what became the kernel's, with or without an outcome before; connect(2) says so, and then connects anew.
for told in (False, True):
    for between in (lambda s: None, peek_off):
        first_listener = far.tcp(peer, 7001, 5)
        s = tcp(six=six)
        s.setblocking(False)
        s.connect_ex((peer, 7001))
        f = first_listener.accept()[0]
        select.select([], [s], [], 5)
        if told:
            s.connect_ex((peer, 7001))
        between(s)
        f.send(b"x")
        f.close_reset()
        settles(s, "HUP")
        print(told, [s.connect_ex((peer, 7001)), polled(s), so_error(s), attempt(s.recv, 9), s.connect_ex((peer, 7001))])
        first_listener.close()

for flags in ((0, 0), (socket.MSG_MORE, 0), (0, socket.MSG_MORE), (socket.MSG_MORE, socket.MSG_MORE)):
    s = tcp(six=six)
    s.connect((peer, 7000))
    f = listener.accept()[0]
    s.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, 1)
    for n, fl in zip((1000, 1), flags):
        s.send(bytes(n), fl)
    before = unsent(s)
    s.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, 0)
    print(before, unsent(s))
