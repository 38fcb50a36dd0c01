# SPDX-License-Identifier: BSD-2-Clause
"""reasons_child.py OWN WHAT: "fork": a server whose two children accept on what they inherit, and make a datagram socket
each; "plain": a listener and a datagram socket. Says the process ids of those that have the sockets, and waits."""
import os
import socket
import sys

own, what = sys.argv[1:]
family = socket.AF_INET6 if ":" in own else socket.AF_INET
listener = socket.create_server((own, 7000), family=family)


def datagram(port):
    s = socket.socket(family, socket.SOCK_DGRAM)
    s.bind((own, port))
    return s


def serve(n):
    u = datagram(7001 + n)
    listener.settimeout(30)
    c, _ = listener.accept()
    c.sendall(c.recv(100))
    os.write(ends[1], b"%d\n" % os.getpid())
    c.recv(100)
    del u


if what == "plain":
    kept = datagram(7001)
    print("ready", os.getpid(), flush=True)
    sys.stdin.read()
    sys.exit()
ends = os.pipe()
for n in range(2):
    if not os.fork():
        serve(n)
        os._exit(0)
print("listens", flush=True)
got = b""
while got.count(b"\n") < 2:
    got += os.read(ends[0], 100)
print("ready", *got.decode().split(), flush=True)
for _ in range(2):
    os.wait()
