# SPDX-License-Identifier: BSD-2-Clause
# Sockets of a SO_REUSEPORT group whose classic BPF program always chooses the third: prints how many of the peer's
# connections or datagrams each got. usage: reuse_prog.py tcp|udp WHEN ADDRESS PORT FILE; the peer begins when FILE is
# there. WHEN the program comes: last (all listen), first (before bind), late (one more joins afterwards).
import ctypes
import select
import socket
import struct
import sys
import time

proto, when, address, port, ready = sys.argv[1:]
family = socket.AF_INET6 if ":" in address else socket.AF_INET
code = ctypes.create_string_buffer(struct.pack("HBBI", 0x06, 0, 0, 2))  # ret #2
members = []


def attach(s):
    s.setsockopt(socket.SOL_SOCKET, 51, struct.pack("HxxxxxxQ", 1, ctypes.addressof(code)))


def member():
    s = socket.socket(family, socket.SOCK_STREAM if proto == "tcp" else socket.SOCK_DGRAM)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    if when == "first" and not members:
        attach(s)
    s.bind((address, int(port)))
    if proto == "tcp":
        s.listen(64)
    members.append(s)


for i in range(3 if when == "late" else 4):
    member()
if when != "first":
    attach(members[1])
if when == "late":
    members.pop(1).close()  # the group keeps its program; the last takes the free place
    member()
    member()
open(ready, "w").close()
got = [0] * len(members)
end = time.time() + 20
while sum(got) < 40 and time.time() < end:
    for s in select.select(members, [], [], 0.2)[0]:
        if proto == "tcp":
            s.accept()[0].close()
        else:
            s.recv(10)
        got[members.index(s)] += 1
print(proto, when, *got)
