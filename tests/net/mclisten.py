# SPDX-License-Identifier: BSD-2-Clause
"""mclisten.py DEVICE GROUP PORT: joins and counts; prints the count when SIGTERM comes."""
import signal

from netlib import *

device, group, port = sys.argv[1], sys.argv[2], int(sys.argv[3])
s = udp(group, None)
s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
s.bind((group, port))
s.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, socket.inet_aton(group) + b"\0" * 4 +
             struct.pack("I", socket.if_nametoindex(device)))
n = 0


def end(*_):
    say(n)
    sys.exit(0)


signal.signal(signal.SIGTERM, end)
s.settimeout(None)
say("joined")
while True:
    s.recv(65536)
    n += 1
