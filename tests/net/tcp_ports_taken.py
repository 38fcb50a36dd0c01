# SPDX-License-Identifier: BSD-2-Clause
"""tcp_ports_taken.py hold ADDR LOW HIGH: binds each second port of the range until it is killed.
tcp_ports_taken.py accept ADDR PORT: takes connections and keeps them.
tcp_ports_taken.py connect ADDR PORT COUNT: makes that many connections, one after the other, and keeps them."""
import signal
import socket
import sys

what, addr, port = sys.argv[1], sys.argv[2], int(sys.argv[3])
kept = []
if what == "hold":
    for p in range(port, int(sys.argv[4]), 2):
        kept.append(socket.socket())
        kept[-1].bind((addr, p))
    print("ready", flush=True)
    signal.pause()
elif what == "accept":
    with socket.create_server((addr, port)) as s:
        while True:
            kept.append(s.accept())
else:
    for i in range(int(sys.argv[4])):
        kept.append(socket.create_connection((addr, port), 10))
    print(len(kept), "connections")
