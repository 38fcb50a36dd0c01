# SPDX-License-Identifier: BSD-2-Clause
"""stamps.py PEER PORT N FLAGS [PAUSE [RATE]]: N numbered datagrams with transmit stamps; a line for each that
comes back: number, by software, by hardware (ns). With PAUSE seconds between the sends, paced at RATE
bytes a second. With STREAM in the environment they are written to a stream."""
import os
import select
import socket
import struct
import sys
import time

peer, port, n, flags = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
pause = float(sys.argv[5]) if len(sys.argv) > 5 else 0
ING, TX = 37, 0x303
stream = "STREAM" in os.environ
s = socket.socket(socket.AF_INET6 if ":" in peer else socket.AF_INET, socket.SOCK_STREAM if stream else socket.SOCK_DGRAM)
s.connect((peer, port))
if stream:
    s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
for i in range(0 if stream else 200):  # until the neighbour is known
    s.send(b"first")
    time.sleep(0.01)
    if select.select([s], [], [], 0.01)[0]:
        break
time.sleep(0.05)
s.setblocking(False)
s.setsockopt(socket.SOL_SOCKET, ING, flags)
if len(sys.argv) > 6:
    s.setsockopt(socket.SOL_SOCKET, 47, int(sys.argv[6]))  # SO_MAX_PACING_RATE
poll = select.poll()
poll.register(s, 0)
want = n * bin(flags & 3).count("1") if flags & 1 << 14 else n


def read():
    """How many came."""
    got = 0
    while True:
        try:
            data, cmsgs, _, _ = s.recvmsg(2000, 500, socket.MSG_ERRQUEUE)
        except BlockingIOError:
            return got
        ident, stamps = None, [0] * 6
        for level, kind, d in cmsgs:
            if (level, kind) == (socket.SOL_SOCKET, ING):
                stamps = struct.unpack("6q", d)
            else:
                err, origin, typ, code, pad, info, ident = struct.unpack("I4B2I", d[:16])
        ident = ident // 8 if stream else ident  # of the last byte of each
        print(ident, stamps[0] * 10**9 + stamps[1], stamps[4] * 10**9 + stamps[5], data[-8:].decode())
        got += 1


have = 0
for i in range(n):
    s.send(b"stamp%03d" % i)
    if pause:
        time.sleep(pause)
    have += read()
while have < want and poll.poll(2000):
    have += read()
print("now", time.clock_gettime_ns(time.CLOCK_REALTIME))
