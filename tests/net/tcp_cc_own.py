# SPDX-License-Identifier: BSD-2-Clause
"""tcp_cc_own.py OWN PEER CONTROL: asserts what TCP_CONGESTION does with a name that only the library has."""
from tcplib import *

own, peer, far = sys.argv[1], sys.argv[2], Far(sys.argv[3])
CC = TCP, socket.TCP_CONGESTION


def name(s):
    return s.getsockopt(*CC, 16).rstrip(b"\0").decode()


def use(s, f):
    for i in range(5):
        s.sendall(pattern(1, i * 30000, 30000))
        assert f.take(30000) == pattern(1, i * 30000, 30000)


system = name(socket.socket())
fl = far.tcp(peer, 0, 5)
s = tcp()
assert attempt(s.setsockopt, *CC, b"no_such") == "ENOENT"
s.setsockopt(*CC, b"bbr3")
assert name(s) == "bbr3"
s.connect(fl.getsockname())
f, _ = fl.accept()
assert name(s) == "bbr3"
use(s, f)
assert attempt(s.setsockopt, *CC, b"no_such") == "ENOENT"
assert name(s) == "bbr3"
s.setsockopt(*CC, b"reno")
assert name(s) == "reno"
s.setsockopt(*CC, b"bbr3")
assert name(s) == "bbr3"
use(s, f)
s.setsockopt(SOL, 61, struct.pack("iI", time.CLOCK_MONOTONIC, 0))  # SO_TXTIME, which only the kernel has
assert name(s) == "reno", name(s)  # which the kernel was told
assert attempt(s.setsockopt, *CC, b"bbr3") == "ENOENT"
use(s, f)

ls = tcp(own, 0)
ls.setsockopt(*CC, b"bbr3")
ls.listen()
assert name(ls) == "bbr3"
f = far.tcp()
f.connect(ls.getsockname())
s, _ = ls.accept()
assert name(s) == "bbr3"
use(s, f)
s.setsockopt(SOL, 61, struct.pack("iI", time.CLOCK_MONOTONIC, 0))
assert name(s) == system
use(s, f)
far.forget()
