# SPDX-License-Identifier: BSD-2-Clause
"""udp_urgent.py serve ADDRESS PORT | flood ADDRESS PORT END | ask ADDRESS PORT

serve: a thread echoes the datagrams with DSCP 46, another one counts the rest of the same port. flood: sends the rest
until the file END is there. ask: N urgent questions, each of which must get its answer; prints how many did, and the
median and the longest time in microseconds."""
import threading
import time

from netlib import *

SL_SO_STEER, EF, N, BATCH = 21324, 46, 300, 32


def bound(addr, port, dscp=None):
    s = udp(addr, None, timeout=None)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    if dscp is not None:
        s.setsockopt(socket.SOL_SOCKET, SL_SO_STEER, struct.pack("=iIIi", dscp, 0, 0, -1))
    s.bind((addr, port))  # here the socket gets the lane of this thread
    return s


def echo(addr, port, ready):
    s = bound(addr, port, EF)
    ready.set()
    while True:
        data, sender = s.recvfrom(100)
        s.sendto(data, sender)


def serve(addr, port):
    ready = threading.Event()
    threading.Thread(target=echo, args=(addr, port, ready), daemon=True).start()
    ready.wait()
    s = bound(addr, port)
    say("ready")
    n = 0
    while s.recv(2000) != b"end":
        n += 1
    say("rest", n)
    time.sleep(TIMEOUT)  # (its counters are read meanwhile)


def flood(addr, port, end):
    s = udp(addr, None)
    n = 0
    while not os.path.exists(end):
        for _ in range(BATCH):
            s.sendto(bytes(1000), (addr, port))
        n += BATCH
        time.sleep(0.0005)
    time.sleep(0.1)  # (what is queued is read first)
    s.sendto(b"end", (addr, port))
    say("sent", n)


def ask(addr, port):
    s = udp(addr, None)
    s.setsockopt(socket.IPPROTO_IPV6 if is6(addr) else socket.IPPROTO_IP, IPV6_TCLASS if is6(addr) else IP_TOS, EF << 2)
    took = []
    for i in range(N):
        began = time.monotonic_ns()
        s.sendto(b"%d" % i, (addr, port))
        if int(s.recv(100)) != i:
            break
        took.append((time.monotonic_ns() - began) // 1000)
        time.sleep(0.001)
    took.sort()
    say(len(took), took[len(took) // 2], took[-1])


what, address, number = sys.argv[1], sys.argv[2], int(sys.argv[3])
{"serve": serve, "flood": flood, "ask": ask}[what](address, number, *sys.argv[4:])
