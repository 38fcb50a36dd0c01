# SPDX-License-Identifier: BSD-2-Clause
"""lease_options.py PEER PORT: a connection with a type of service and a priority goes to the kernel, by an option that
only the kernel has. Prints its options before and after."""
import socket
import struct
import sys
import time

SO_TXTIME = 61
c = socket.create_connection((sys.argv[1], int(sys.argv[2])), 10)


def echo(text):
    c.sendall(text)
    return c.recv(100) == text


def options():
    print(echo(b"hello"), c.getsockopt(socket.IPPROTO_IP, socket.IP_TOS), c.getsockopt(socket.SOL_SOCKET, socket.SO_PRIORITY))


options()
c.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, 0x10)  # (this sets the priority, too)
c.setsockopt(socket.SOL_SOCKET, socket.SO_PRIORITY, 3)
options()
c.setsockopt(socket.SOL_SOCKET, SO_TXTIME, struct.pack("iI", time.CLOCK_MONOTONIC, 0))
options()
c.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, 0x08)
options()
