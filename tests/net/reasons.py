# SPDX-License-Identifier: BSD-2-Clause
"""reasons.py OWN PEER GROUP: sockets that stay with the kernel, each on a port of its own; it says so, and waits."""
import socket
import sys
import time

own, peer, group = sys.argv[1:4]
family = socket.AF_INET6 if ":" in own else socket.AF_INET


def udp(address, port):
    s = socket.socket(family, socket.SOCK_DGRAM)
    s.bind((address, port))
    return s


ours = udp(own, 7001)
connected = udp(own, 7002)
connected.connect((peer, 9))
in_group = udp(group, 7003)
in_group.connect((peer, 9))
loopback = udp("::1" if family == socket.AF_INET6 else "127.0.0.1", 7004)
print("ready", flush=True)
time.sleep(60)
