# SPDX-License-Identifier: BSD-2-Clause
"""Programs for the tests that receive by verbs.

receive.py stamps ADDR PORT N      N datagrams with hardware stamps: for each its text, and by how many microseconds the
                                   stamp is after the time of CLOCK_REALTIME that the text is
receive.py fork ADDR PORT          a child answers first, then the parent: by whom each datagram was answered
receive.py slow ADDR PORT N        reads nothing until N is written to standard input, then counts what it has
receive.py ask ADDR PORT [FROM]    sends its time and prints the answer; the empty line: none within two seconds
receive.py flood ADDR PORT N       sends N numbered datagrams"""
import os
import socket
import struct
import sys
import time

what, addr, port = sys.argv[1], sys.argv[2], int(sys.argv[3])
s = socket.socket(socket.AF_INET6 if ":" in addr else socket.AF_INET, socket.SOCK_DGRAM)


def say(*words):
    print(*words, flush=True)


if what == "stamps":
    s.bind((addr, port))
    s.setsockopt(socket.SOL_SOCKET, 37, 1 << 2 | 1 << 6)  # SO_TIMESTAMPING: RX_HARDWARE, RAW_HARDWARE
    say("ready")
    for _ in range(int(sys.argv[4])):
        data, cmsgs, _, peer = s.recvmsg(2000, 500)
        hw = 0
        for level, kind, value in cmsgs:
            if level == socket.SOL_SOCKET and kind == 37:
                sec, nsec = struct.unpack_from("qq", value, 32)
                hw = sec * 10**9 + nsec
        s.sendto(data, peer)
        say(data.decode(), (hw - int(data)) // 1000 if hw else "none")
elif what == "fork":
    s.bind((addr, port))
    say("ready")
    data, peer = s.recvfrom(2000)
    s.sendto(b"before", peer)
    pid = os.fork()
    if not pid:
        data, peer = s.recvfrom(2000)
        s.sendto(b"child", peer)
        os._exit(0)
    os.waitpid(pid, 0)
    data, peer = s.recvfrom(2000)
    s.sendto(b"parent", peer)
elif what == "slow":
    s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 24)
    s.bind((addr, port))
    s.setblocking(False)
    try:
        s.recv(10)  # (it is offloaded from its first call on)
    except BlockingIOError:
        pass
    say("ready")
    sys.stdin.readline()
    n, last = 0, -1
    until = time.monotonic() + 2
    while time.monotonic() < until:
        try:
            number = int(s.recv(2000))
            n, last, wrong = n + 1, number, number <= last
            if wrong:
                say("out of order", number)
        except BlockingIOError:
            time.sleep(0.001)
    say("got", n, "last", last)
elif what == "ask":
    s.settimeout(2)
    try:
        s.sendto(str(time.time_ns()).encode(), (addr, port))
        say(s.recv(2000).decode())
    except OSError:
        say("")
elif what == "flood":
    for i in range(int(sys.argv[4])):
        s.sendto(str(i).encode(), (addr, port))
