# SPDX-License-Identifier: BSD-2-Clause
"""far_frames.py OWN PEER PORT: holds more packets than there are near frames (io/far.h), then sends by UDP and TCP.

The peer sends back what it gets, on UDP (reflector.py) and on TCP (far_frames.py echo OWN PORT)."""
import hashlib
import socket
import sys

SOCKETS, HELD = 64, 60


def echo(own, port):
    family = socket.AF_INET6 if ':' in own else socket.AF_INET
    server = socket.create_server((own, port), family=family)
    conn, _ = server.accept()
    while data := conn.recv(65536):
        conn.sendall(data)


def datagram(i, k):
    return (b'%d %d ' % (i, k)) * 100


def exchange(c, pieces):
    """Sends the pieces, reads them back while it does, and returns their digest."""
    want, got, digest = sum(map(len, pieces)), 0, hashlib.sha256()
    sent = 0
    for p in pieces:
        c.sendall(p)
        sent += len(p)
        while sent - got > 100000 or (sent == want and got < want):
            data = c.recv(65536)
            assert data
            digest.update(data)
            got += len(data)
    return digest.hexdigest()


def main(own, peer, port):
    family = socket.AF_INET6 if ':' in own else socket.AF_INET
    held = []
    for i in range(SOCKETS):
        s = socket.socket(family, socket.SOCK_DGRAM)
        s.bind((own, 0))
        s.connect((peer, port))
        s.settimeout(20)
        for k in range(HELD):
            s.send(datagram(i, k))
        s.recv(1, socket.MSG_PEEK)
        held.append(s)
    u = socket.socket(family, socket.SOCK_DGRAM)
    u.connect((peer, port))
    u.settimeout(20)
    for n in (1, 100, 1400, 5000):
        for k in range(50):
            u.send(bytes([k]) * n)
            assert u.recv(65536) == bytes([k]) * n
    print('pings come back')
    c = socket.create_connection((peer, port))
    c.settimeout(20)
    c.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    print(exchange(c, [b'%05d' % k * 20 for k in range(2000)]))
    print(exchange(c, [b'%05d' % k * 10000 for k in range(100)]))
    for i, s in enumerate(held):
        for k in range(HELD):
            assert s.recv(65536) == datagram(i, k), (i, k)
    print('what was held is whole')
    for k in range(50):
        u.send(bytes([k]) * 100)
        assert u.recv(65536) == bytes([k]) * 100
    print(exchange(c, [b'%05d' % k * 20 for k in range(200)]))


if sys.argv[1] == 'echo':
    echo(sys.argv[2], int(sys.argv[3]))
else:
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
