# SPDX-License-Identifier: BSD-2-Clause
"""bind_device.py PORT DEV-A A DEV-C C: SO_BINDTODEVICE with two devices; reflectors at A and C."""
from netlib import *

port, dev_a, a, dev_c, c = int(sys.argv[1]), *sys.argv[2:6]
any_addr = "::" if is6(a) else "0.0.0.0"
BIND, BINDIF = 25, 62


def on(dev, at=7700):
    s = udp(any_addr, None)
    s.setsockopt(socket.SOL_SOCKET, BIND, dev.encode() + b"\0")
    s.bind((any_addr, at))
    s.settimeout(TIMEOUT)
    return s


sa, sc = on(dev_a), on(dev_c)
say("two on one port", sa.getsockname()[1], sc.getsockname()[1],
    sa.getsockopt(socket.SOL_SOCKET, BIND, 16).rstrip(b"\0") == dev_a.encode())
say("each by its device", ask(sa, (a, port))["len"], ask(sc, (c, port))["len"])
plain = udp(any_addr, 7701)
plain.sendto(question(to=[ask(sa, (a, port))["from"], 7700]), (a, port))
say("from a to the one on a", json.loads(sa.recv(1000))["port"], nothing_comes(sc))
plain.sendto(question(to=[ask(sc, (c, port))["from"], 7700]), (c, port))
say("from c to the one on c", json.loads(sc.recv(1000))["port"], nothing_comes(sa))
sa.settimeout(0.5)
say("to c by way of a", attempt(ask, sa, (c, port)))
say("no such device", attempt(plain.setsockopt, socket.SOL_SOCKET, BIND, b"nosuch0\0"))
sa.setsockopt(socket.SOL_SOCKET, BIND, b"\0")
sa.settimeout(TIMEOUT)
sc.close()
say("unbound from it", sa.getsockopt(socket.SOL_SOCKET, BIND, 16), ask(sa, (c, port))["len"])
