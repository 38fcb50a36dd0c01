# SPDX-License-Identifier: BSD-2-Clause
"""fork_whole.py serve ADDRESS PORT HOW GO | read ADDRESS PORT HOW

serve: accepts a connection, writes, forks when the file GO is there, and the child writes more. HOW: rest, the peer has
acknowledged all by then; unsent, it reads nothing before the child has written."""
import os
import socket
import sys
import time

what, addr, port, how = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]
SIZE = {"rest": 10, "unsent": 300000}[how]


def pattern(seed, n):
    return bytes((seed + i * 7 + (i >> 8)) & 0xFF for i in range(n))


def serve(go):
    ls = socket.create_server((addr, port))
    s, _ = ls.accept()
    assert s.recv(1) == b"x"
    s.setblocking(False)
    sent = s.send(pattern(1, SIZE))
    s.setblocking(True)
    time.sleep(0.2)  # the acknowledgment
    open(go + ".ready", "w").close()
    while not os.path.exists(go):
        time.sleep(0.01)
    if not os.fork():
        s.sendall(sent.to_bytes(4, "big"))
        s.sendall(pattern(2, 5000))
        s.shutdown(socket.SHUT_WR)
        s.recv(1)
        os._exit(0)
    time.sleep(60)


def read():
    s = socket.socket()
    s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8192)
    s.settimeout(25)
    s.connect((addr, port))
    s.sendall(b"x")
    time.sleep(1 if how == "unsent" else 0)
    got = b""
    while part := s.recv(65536):
        got += part
    sent = len(got) - 5004
    good = got == pattern(1, sent) + sent.to_bytes(4, "big") + pattern(2, 5000)
    print("all right" if good else f"{len(got)} bytes, {got[:20]} {got[-20:]}")


if what == "serve":
    serve(sys.argv[5])
else:
    read()
