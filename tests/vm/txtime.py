# SPDX-License-Identifier: BSD-2-Clause
"""txtime.py ADDRESS PORT CLOCK: datagrams with a time to leave at (SO_TXTIME), 300 ms ahead of each, to an
echo. Status 0: each came back, and not before its time."""
import socket
import struct
import sys
import time

SO_TXTIME = SCM_TXTIME = 61
address, port, clock = sys.argv[1], int(sys.argv[2]), sys.argv[3]
number = {"CLOCK_MONOTONIC": 1, "CLOCK_TAI": 11}[clock]
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.setsockopt(socket.SOL_SOCKET, SO_TXTIME, struct.pack("iI", number, 0))
s.settimeout(20)
for i in range(5):
    at = time.clock_gettime_ns(number) + 300000000
    s.sendmsg([b"%d" % i], [(socket.SOL_SOCKET, SCM_TXTIME, struct.pack("Q", at))], 0, (address, port))
    if s.recv(100) != b"%d" % i:
        sys.exit("another came")
    early = at - time.clock_gettime_ns(number)
    if early > 1000000:  # (etf may send delta before it)
        sys.exit(f"it came {early} ns before its time")
