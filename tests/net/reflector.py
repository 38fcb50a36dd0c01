# SPDX-License-Identifier: BSD-2-Clause
"""reflector.py ADDRESS PORT [NPORTS]: answers questions of netlib.ask() on NPORTS ports until it
is killed. Other datagrams are sent back unchanged. Prints `ready` when all ports are bound: a port is taken before
bind() returns, which may wait for the link of a device that is taken into use."""
import json
import selectors
import sys

from netlib import *


def reply(s, others, data, meta, sender):
    try:
        q = json.loads(data)
        assert isinstance(q, dict)
    except (ValueError, AssertionError):
        s.sendto(data, sender)
        return
    told = {"len": len(data), "from": sender[0], "ttl": meta.get("ttl"), "tos": meta.get("tos"),
            "dst": meta.get("dst"), "port": s.getsockname()[1]}
    out = b"r" * q["size"] if "size" in q else json.dumps(told).encode()
    control = []
    six = s.family == socket.AF_INET6
    level = socket.IPPROTO_IPV6 if six else socket.IPPROTO_IP
    if "ttl" in q:
        control.append((level, IPV6_HOPLIMIT if six else IP_TTL, struct.pack("i", q["ttl"])))
    if "tos" in q:
        control.append((level, IPV6_TCLASS if six else IP_TOS, struct.pack("i", q["tos"])))
    to = tuple(q["to"]) if "to" in q else sender
    way = others[q["from_port"]] if "from_port" in q else s
    for _ in range(q.get("count", 1)):
        way.sendmsg([out], control, 0, to)


def main():
    addr, port = sys.argv[1], int(sys.argv[2])
    count = int(sys.argv[3]) if len(sys.argv) > 3 else 1
    sel = selectors.DefaultSelector()
    socks = {}
    for p in range(port, port + count):
        s = udp(addr, p)
        ask_meta(s)
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
        s.setblocking(False)
        socks[p] = s
        sel.register(s, selectors.EVENT_READ)
    say("ready")
    while True:
        for key, _ in sel.select():
            try:
                data, meta, _, sender = recv_meta(key.fileobj)
                reply(key.fileobj, socks, data, meta, sender)
            except OSError as e:
                print("reflector:", e, file=sys.stderr)


main()
