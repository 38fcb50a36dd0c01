# SPDX-License-Identifier: BSD-2-Clause
# The server of vlan.sh: one process (it has the device) with a UDP socket of both families and a
# TCP listener. It prints each line that comes.
import select
import socket
import sys

port, tcp_port = int(sys.argv[1]), int(sys.argv[2])
udp = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
udp.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
udp.bind(("::", port))
tcp = socket.socket()
tcp.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
tcp.bind(("0.0.0.0", tcp_port))
tcp.listen()
print("ready", flush=True)
socks = [udp, tcp]
while True:
    for s in select.select(socks, [], [])[0]:
        if s is tcp:
            socks.append(s.accept()[0])
            continue
        data = s.recv(2000)
        if data:
            sys.stdout.write(data.decode())
            sys.stdout.flush()
        elif s is not udp:
            print("end", flush=True)
            socks.remove(s)
            s.close()
