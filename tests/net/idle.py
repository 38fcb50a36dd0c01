# SPDX-License-Identifier: BSD-2-Clause
"""idle.py ADDRESS PORT SECONDS: a server that gets no requests and looks at its clock ten times a second. Prints the
share of a processor that it used in the second half of SECONDS, then answers one datagram."""
import os
import select
import socket
import sys
import time

address, port, seconds = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
udp.bind((address, port))
tcp = socket.socket()
tcp.bind((address, port))
tcp.listen()
ep = select.epoll()
for s in (udp, tcp):
    s.setblocking(False)
    ep.register(s, select.EPOLLIN)


def idle_until(end):
    while time.monotonic() < end:
        assert ep.poll(0.1) == []


begin = time.monotonic()
idle_until(begin + seconds / 2)
wall, cpu = time.monotonic(), sum(os.times()[:2])
idle_until(begin + seconds)
share = (sum(os.times()[:2]) - cpu) / (time.monotonic() - wall)
print(f"share {share * 100:.1f} %", flush=True)
while not ep.poll(0.1):
    pass
data, peer = udp.recvfrom(100)
udp.sendto(data, peer)
