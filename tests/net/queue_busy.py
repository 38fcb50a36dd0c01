# SPDX-License-Identifier: BSD-2-Clause
"""queue_busy.py hold DEVICE SECONDS: binds an AF_XDP socket to queue 0 of the device for SECONDS, and prints when it
has.
queue_busy.py sockets PORT...: binds UDP sockets to the ports, the first at once, the next at each line of the input.
queue_busy.py ask SECONDS COMMAND...: runs COMMAND again and again for SECONDS; prints the longest time that it took,
in milliseconds."""
import ctypes
import mmap
import socket
import struct
import subprocess
import sys
import time

AF_XDP, SOL_XDP, XDP_COPY = 44, 283, 2
RX_RING, UMEM_REG, FILL_RING, COMPLETION_RING = 2, 4, 5, 6


def hold(device, seconds):
    s = socket.socket(AF_XDP, socket.SOCK_RAW)
    memory = mmap.mmap(-1, 4096)
    at = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    s.setsockopt(SOL_XDP, UMEM_REG, struct.pack("=QQIIII", at, 4096, 2048, 0, 0, 0))
    for ring in FILL_RING, COMPLETION_RING, RX_RING:
        s.setsockopt(SOL_XDP, ring, 2)
    to = struct.pack("=HHIII", AF_XDP, XDP_COPY, socket.if_nametoindex(device), 0, 0)
    assert ctypes.CDLL(None).bind(s.fileno(), to, len(to)) == 0
    print("bound", flush=True)
    time.sleep(float(seconds))


def ask(seconds, *command):
    took, end = [], time.monotonic() + float(seconds)
    while time.monotonic() < end:
        t = time.monotonic()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        took.append(time.monotonic() - t)
    print(int(max(took) * 1000))


def sockets(*ports):
    bound = []
    for port in ports:
        bound.append(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        bound[-1].bind(("", int(port)))
        print("bound", port, flush=True)
        sys.stdin.readline()


{"hold": hold, "ask": ask, "sockets": sockets}[sys.argv[1]](*sys.argv[2:])
