# SPDX-License-Identifier: BSD-2-Clause
"""pace_tcp_moves.py ADDR PORT FILE RATE [WORD..]: sends the file's bytes with SO_MAX_PACING_RATE RATE (bytes a
second). Words, each done after an equal part of the file:

    rate=N     another rate; 0: none
    leave      the connection is handed to the kernel
    wait=PATH  goes on when PATH exists; that it waits is said
    fork       a child lives for a while, and ends
    stamps     the hardware stamps what is sent; how many stamps came is printed at the end
Prints the round trip as the connection sees it, in us, and "sent"."""
import os
import socket
import struct
import sys
import time

RATE, TXTIME, TIMESTAMPING, TCP_INFO = 47, 61, 37, 11
HARDWARE = 1 | 1 << 6 | 1 << 7 | 1 << 11  # TX_HARDWARE, RAW_HARDWARE, OPT_ID, OPT_TSONLY
NONE = 2**64 - 1


def rate(s, n):
    s.setsockopt(socket.SOL_SOCKET, RATE, struct.pack("Q", n or NONE))


def do(s, word):
    name, _, value = word.partition("=")
    if name == "rate":
        rate(s, int(value))
    elif name == "leave":
        s.setsockopt(socket.SOL_SOCKET, TXTIME, struct.pack("iI", 1, 0))
        print("left", flush=True)
    elif name == "fork":
        if os.fork() == 0:
            time.sleep(0.3)
            os._exit(0)
    elif name == "stamps":
        s.setsockopt(socket.SOL_SOCKET, TIMESTAMPING, HARDWARE)
    elif name == "wait":
        print("waiting", flush=True)
        while not os.path.exists(value):
            time.sleep(0.01)


addr, port, path, first = sys.argv[1:5]
words = sys.argv[5:]
data = open(path, "rb").read()
s = socket.create_connection((addr, int(port)))
s.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 100000)
rate(s, int(first))
part = len(data) // (len(words) + 1) + 1
srtt = []
for i in range(0, len(data), part):
    for at in range(i, min(i + part, len(data)), 20000):
        s.sendall(data[at : min(at + 20000, i + part)])
        info = s.getsockopt(socket.IPPROTO_TCP, TCP_INFO, 104)
        srtt.append(struct.unpack_from("I", info, 68)[0])
    if i // part < len(words):
        do(s, words[i // part])
stamps = 0
while "stamps" in words:
    try:
        s.recvmsg(1, 500, socket.MSG_ERRQUEUE | socket.MSG_DONTWAIT)
        stamps += 1
    except BlockingIOError:
        break
print("stamps", stamps)
s.shutdown(socket.SHUT_WR)
s.recv(1)
print("srtt", sorted(srtt)[len(srtt) // 2], "retransmitted", struct.unpack_from("I", info, 100)[0])
print("sent", flush=True)
