# SPDX-License-Identifier: BSD-2-Clause
"""udp_steer.py receive steer|rule ADDR4 ADDR6 PORT; send ADDR4 ADDR6 PORT; serve ADDR PORT; ask ADDR PORT TOS"""
from netlib import *

SL_SO_STEER = 21324
LABEL, N = 0xABCDE, 20
IPV6_FLOWLABEL_MGR, IPV6_FLOWINFO_SEND = 32, 33


def steer(s, dscp=-1, label=0, mask=0, vni=-1):
    s.setsockopt(socket.SOL_SOCKET, SL_SO_STEER, struct.pack("=iIIi", dscp, label, mask, vni))


def bound(addr, port, **wants):
    s = udp(addr, None)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    if wants:
        steer(s, **wants)
    s.bind((addr, port))
    return s


def count(s, kind):
    """How many datagrams of that kind come, and no other."""
    n = 0
    while n < N:
        data = s.recv(100)
        if data != kind.encode():
            return f"{n}, then {data}"
        n += 1
    return n


def by_steering(a4, a6, port):
    socks = {
        "v4 ef": bound(a4, port, dscp=46),
        "v4 rest": bound(a4, port),
        "v6 ef": bound(a6, port, dscp=46),
        "v6 label": bound(a6, port, label=LABEL, mask=0xFFFFF),
        "v6 rest": bound(a6, port),
    }
    go = udp(a4, port + 1)
    say("wrong value", attempt(steer, socks["v4 ef"], 64))
    say("too short", attempt(socks["v4 ef"].setsockopt, socket.SOL_SOCKET, SL_SO_STEER, bytes(12)))
    say("a stream", attempt(steer, socket.socket(), 1))
    say("ready")
    for kind, s in socks.items():
        say(kind, count(s, kind))
    say("nothing more" if all(nothing_comes(s, 0.05) is True for s in socks.values()) else "more comes")
    # A socket that is narrowed when it is bound already, and a connected one.
    go.recvfrom(10)
    for s in (socks["v4 rest"], socks["v6 rest"], socks["v6 label"], socks["v6 ef"]):
        s.close()
    steer(socks["v4 ef"])  # anything
    go.sendto(b"go", go.recvfrom(10)[1])
    n = 0
    while n < 2 * N:
        socks["v4 ef"].recv(100)
        n += 1
    say("any", n)
    steer(socks["v4 ef"], dscp=46)
    go.sendto(b"go", go.recvfrom(10)[1])
    got = [socks["v4 ef"].recv(100) for _ in range(N)]
    say("back" if set(got) == {b"v4 ef"} and nothing_comes(socks["v4 ef"], 0.1) is True else f"wrong: {got}")


def by_rule(a4, a6, port):
    socks = [udp(a4, port), udp(a6, port)]
    say("ready")
    n = 0
    while n < 5 * N and select.select(socks, [], [], 3)[0]:
        for s in select.select(socks, [], [], 0)[0]:
            s.recv(100)
            n += 1
    say("all", n)


def sender(to, tos, label=0):
    s = socket.socket(socket.AF_INET6 if is6(to) else socket.AF_INET, socket.SOCK_DGRAM)
    if not is6(to):
        s.setsockopt(socket.IPPROTO_IP, IP_TOS, tos)
        return s
    s.setsockopt(socket.IPPROTO_IPV6, IPV6_TCLASS, tos)
    if label:
        get = socket.inet_pton(socket.AF_INET6, to) + struct.pack(">I", label) + struct.pack("=BBHHHI", 0, 255, 1, 0, 0, 0)
        s.setsockopt(socket.IPPROTO_IPV6, IPV6_FLOWLABEL_MGR, get)
        s.setsockopt(socket.IPPROTO_IPV6, IPV6_FLOWINFO_SEND, 1)
    return s


def send_kind(to, port, kind, tos, label=0):
    """From five ports: a choice by the flow's hash would not send all of them to one socket."""
    for _ in range(5):
        s = sender(to, tos, label)
        for _ in range(N // 5):
            s.sendto(kind.encode(), (to, port, label, 0) if label else (to, port))


def send_both(a4, port):
    send_kind(a4, port, "v4 rest", 1)
    send_kind(a4, port, "v4 ef", 46 << 2 | 2)


def send(a4, a6, port):
    send_both(a4, port)
    send_kind(a6, port, "v6 rest", 0)
    send_kind(a6, port, "v6 ef", 46 << 2)
    send_kind(a6, port, "v6 label", 10 << 2, LABEL)
    go = udp()
    if port == 7310:  # by steering
        go.sendto(b"sent", (a4, port + 1))
        for _ in range(2):
            go.sendto(b"go?", (a4, port + 1))
            go.recv(10)
            send_both(a4, port)


def serve(addr, port):
    s = socket.create_server((addr, port))
    while True:
        s.accept()[0].sendall(b"hello")


def ask(addr, port, tos):
    s = socket.socket()
    s.settimeout(5)
    s.setsockopt(socket.IPPROTO_IP, IP_TOS, tos)
    s.connect((addr, port))
    print(s.recv(100).decode())


what, args = sys.argv[1], [int(x) if x.isdigit() else x for x in sys.argv[2:]]
if what == "receive":
    (by_steering if args[0] == "steer" else by_rule)(*args[1:])
else:
    {"send": send, "serve": serve, "ask": ask}[what](*args)
