# SPDX-License-Identifier: BSD-2-Clause
"""jumbo.py OWN PEER PORT [READY GO]: datagrams of all lengths there and back, whole and unchanged. With READY and GO
it then makes the file READY, waits for the file GO, and sends all of them again. A reflector is at PEER PORT."""
import os
import random
import time

from netlib import *

own, peer, port = sys.argv[1], sys.argv[2], int(sys.argv[3])
TIMES = 20
# Frames of 2,048 bytes hold an untagged IP packet of 1,602 bytes, those of 4,096 one of 3,650.
WHOLE = (576, 1500, 1601, 1602)
LARGE = (1603, 2000, 2500, 3000, 3400, 3650, 3651, 6000, 8999, 9000)


def exchange(s, most):
    for length in WHOLE + LARGE:
        if length > most:
            break
        sent = [random.randbytes(length - (48 if is6(peer) else 28)) for _ in range(TIMES)]
        for d in sent:
            s.send(d)
        say(length, sum(s.recv(65536) == d for d in sent))


def scattered(s, length):
    """Sends from buffers of odd lengths; receives into other ones, by MSG_PEEK, truncated, as segments (UDP_SEGMENT),
    and coalesced (UDP_GRO)."""
    sent = random.randbytes(length)
    s.sendmsg([sent[:1], sent[1:1000], sent[1000:4095], sent[4095:4096], sent[4096:]])
    say("look", s.recv(5000, socket.MSG_PEEK) == sent[:5000], len(s.recv(1, socket.MSG_PEEK | socket.MSG_TRUNC)))
    into = [bytearray(n) for n in (7, 3001, 1, 9000)]
    n, _, flags, _ = s.recvmsg_into(into)
    say("scattered", n, flags, b"".join(into)[:n] == sent)
    s.send(sent)
    n, _, flags, _ = s.recvmsg_into([bytearray(4000), bytearray(99)])
    say("cut", n, flags)
    s.setsockopt(socket.IPPROTO_UDP, UDP_SEGMENT, length // 2)
    s.send(sent + sent[:100])
    got = [s.recv(65536) for _ in range(3)]
    say("segments", [len(d) for d in got], b"".join(got) == sent + sent[:100])
    s.setsockopt(socket.IPPROTO_UDP, UDP_SEGMENT, 0)


s = udp(own)
s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
s.connect((peer, port))
IP, MTU = (socket.IPPROTO_IPV6, IPV6_MTU) if is6(peer) else (socket.IPPROTO_IP, IP_MTU)
exchange(s, s.getsockopt(IP, MTU))
if s.getsockopt(IP, MTU) >= 9000:
    scattered(s, 8900)
if len(sys.argv) > 4:
    open(sys.argv[4], "w").close()
    while not os.path.exists(sys.argv[5]):
        time.sleep(0.05)
    while s.getsockopt(IP, MTU) <= 1500:  # (the path is another one now, and is looked up)
        s.send(b"")
        s.recv(1)
        time.sleep(0.05)
    say("raised", s.getsockopt(IP, MTU))
    exchange(s, s.getsockopt(IP, MTU))
