# SPDX-License-Identifier: BSD-2-Clause
"""sibling_gone.py lives|gone OWN PEER PORT: two sockets share a port; the one that the kernel prefers is closed. Of
20 datagrams sent then, prints how many the other one got, and how many of these it read from the kernel."""
import os

from netlib import *

child, own, peer, port = *sys.argv[1:4], int(sys.argv[4])


def shared(addr):
    s = udp(addr, None)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    s.bind((addr, 7300))
    return s


def received_by_kernel():
    names, values = [l.split() for l in open("/proc/net/snmp") if l.startswith("Udp:")]
    return int(values[names.index("InDatagrams")])


other, better = shared("0.0.0.0"), shared(own)
ends = os.pipe()
pid = os.fork()
if not pid:
    if child == "lives":
        os.close(ends[1])
        os.read(ends[0], 1)
    os._exit(0)
os.close(ends[0])
if child == "gone":
    os.waitpid(pid, 0)
better.close()
ask(udp(own), (peer, port))  # (the peer has sent all it was asked for)
before = received_by_kernel()
for i in range(20):
    other.sendto(question(), (peer, port))
other.settimeout(2)
got = 0
try:
    while got < 20 and other.recv(1000):
        got += 1
except TimeoutError:
    pass
print(got, received_by_kernel() - before)
