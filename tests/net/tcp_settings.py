# SPDX-License-Identifier: BSD-2-Clause
"""tcp_settings.py serve ADDR PORT | ask ADDR PORT | many ADDR PORT N: TCP settings, as both ends see them. serve: on
the kernel; sends to each connection its TCP_INFO, and how many ACKs 100 segments of 100 bytes got. ask: one
connection; prints its own options and what the far end sends. many: how many
of N connections are open within half a second."""
import select
import socket
import struct
import sys
import time

what, addr, port = sys.argv[1], sys.argv[2], int(sys.argv[3])
TCP = socket.IPPROTO_TCP


def info(s):
    b = s.getsockopt(TCP, socket.TCP_INFO, 256)
    options, scales = b[5], b[6]
    snd_mss, = struct.unpack_from("I", b, 16)
    segs_in, = struct.unpack_from("I", b, 140)
    return options, scales & 15, snd_mss, segs_in


def serve():
    l = socket.create_server((addr, port), backlog=64)
    while True:
        s, _ = l.accept()
        with s:
            s.setsockopt(TCP, socket.TCP_NODELAY, 1)
            if not s.recv(1):
                continue
            before = info(s)[3]
            for i in range(100):
                s.send(bytes(100))
                time.sleep(0.003)
            time.sleep(0.05)
            options, wscale, mss, segs = info(s)
            s.send(b"ts=%d wscale=%s mss=%d acks=%d" % (
                options & 1, b"%d" % wscale if options & 4 else b"none", mss, segs - before))


def ask():
    s = socket.create_connection((addr, port), 5)
    time.sleep(0.01)
    s.send(b"x")
    got = b""
    while True:
        more = s.recv(65536)
        if not more:
            break
        got += more
    print(got[10000:].decode(), "nodelay=%d" % (s.getsockopt(TCP, socket.TCP_NODELAY) != 0),
          "cc=" + s.getsockopt(TCP, socket.TCP_CONGESTION, 16).rstrip(b"\0").decode())


def many():
    socks = []
    for i in range(int(sys.argv[4])):
        s = socket.socket()
        s.setblocking(False)
        s.connect_ex((addr, port))
        socks.append(s)
    end, open_ = time.monotonic() + 0.5, set()
    while time.monotonic() < end:
        open_ |= set(select.select([], socks, [], 0.05)[1])
    print(len(open_))


{"serve": serve, "ask": ask, "many": many}[what]()
