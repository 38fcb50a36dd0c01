# SPDX-License-Identifier: BSD-2-Clause
"""ss.py serve OWN OWN6 PEER BASE: sockets of each kind that `sluice ss` must show as ss shows the kernel's; then
reads them in turn and says how each ends.  ss.py peer OWN SERVER BASE: the other host, which says how its first
connection ends."""
import errno
import socket
import struct
import sys

role, own = sys.argv[1:3]
base = int(sys.argv[-1])


def ends(name, call):
    try:
        print(name, call(), flush=True)
    except OSError as e:
        print(name, errno.errorcode[e.errno], flush=True)


def no_time_wait(*socks):
    for s in socks:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def udp(family, address, port, to=None):
    s = socket.socket(family, socket.SOCK_DGRAM)
    s.bind((address, port))
    if to:
        s.connect(to)
    return s


if role == "peer":
    server = sys.argv[3]
    listener = socket.create_server((own, base + 50))
    conns = [socket.create_connection((server, base), source_address=(own, base + 11 + i)) for i in range(2)]
    conns[1].sendall(b"waiting")
    other = listener.accept()[0]
    no_time_wait(other, *conns)
    print("ready", flush=True)
    ends("peer", lambda: conns[0].recv(1))
    other.recv(1)
else:
    own6, peer = sys.argv[3:5]
    listener = socket.create_server((own, base), backlog=8)
    print("listens", flush=True)
    conns = [listener.accept()[0] for i in range(2)]
    client = socket.create_connection((peer, base + 50), source_address=(own, base + 40))
    plain = udp(socket.AF_INET, own, base + 1)
    connected = udp(socket.AF_INET, own, base + 2, (peer, base + 3))
    plain6 = udp(socket.AF_INET6, own6, base + 4)
    no_time_wait(client, *conns)
    connected.send(b"x")
    plain.sendto(b"x", (peer, base + 3))
    print("ready", flush=True)
    ends("connection", lambda: conns[0].recv(1))
    ends("datagrams", lambda: plain.recv(1))
    ends("listener", lambda: listener.accept())
    client.recv(1)
