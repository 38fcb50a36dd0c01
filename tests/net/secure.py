# SPDX-License-Identifier: BSD-2-Clause
"""A program that prints which parts of the library it finds in its own process: secure.py WHAT [ARGUMENT]

socket: makes a datagram socket     moved DIR: goes to DIR before
wait NAME: gives itself the name NAME, and waits for the end of its input"""
import os
import sys
import _socket as socket

what = sys.argv[1]
if what == "moved":
    os.chdir(sys.argv[2])
if what == "wait":
    with open("/proc/self/comm", "w") as comm:
        comm.write(sys.argv[2])
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(("127.0.0.1", 0))
with open("/proc/self/maps") as maps:
    found = sorted({line.split()[-1] for line in maps if "libsluice.so" in line})
print(*found or ["none"], flush=True)
if what == "wait":
    sys.stdin.read()
