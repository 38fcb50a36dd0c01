# SPDX-License-Identifier: BSD-2-Clause
# Binds 7001 before, 7002 while, and 7003 after more descriptors wait in sockets than the process may have; then
# answers datagrams on all three.
import array
import resource
import select
import socket
import sys


def bound(port):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.bind((sys.argv[1], port))
    return s


resource.setrlimit(resource.RLIMIT_NOFILE, (300, 300))
socks = [bound(7001)]
near, far = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
for _ in range(2):
    near.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [0] * 200))])
socks.append(bound(7002))
near.close()
far.close()
socks.append(bound(7003))
print("ready", flush=True)
while True:
    for s in select.select(socks, [], [])[0]:
        data, peer = s.recvfrom(2048)
        s.sendto(data, peer)
