# SPDX-License-Identifier: BSD-2-Clause
"""cut_short.py OTHER PORT: a program that asks the daemon for one of each: a lease, claims of TCP and UDP, a connection
that becomes the kernel's (its descriptor is passed on), another that a child takes over. It is cut short in the midst of that. Says "whole" if it is not."""
import array
import os
import socket
import sys

other, port = sys.argv[1], int(sys.argv[2])


def talk(s, times):
    for _ in range(times):
        s.sendall(b"x" * 100)
        n = 0
        while n < 100:
            n += len(s.recv(100))


u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
u.bind(("0.0.0.0", 0))
c = socket.create_connection((other, port))
c.settimeout(10)
talk(c, 5)
left, right = socket.socketpair()
left.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [c.fileno()]))])
talk(c, 2)
fd = array.array("i", right.recvmsg(1, 100)[1][0][2])[0]
talk(c, 2)
c.close()
os.close(fd)
listener = socket.create_server(("0.0.0.0", 0))
d = socket.create_connection((other, port))
d.settimeout(10)
talk(d, 2)
pid = os.fork()
if pid == 0:
    talk(d, 1200)
    u.sendto(b"x", (other, port))
    d.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 400000)
    os._exit(0)
d.close()
os.waitpid(pid, 0)
print("whole", flush=True)
