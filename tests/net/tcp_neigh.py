#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""connect() to neighbours that are not known yet: tcp_neigh.py PEER PORT DEAD... prints what happens, and no times."""
import errno, select, signal, socket, struct, subprocess, sys, time

peer, port, dead = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
family = socket.AF_INET6 if ":" in peer else socket.AF_INET


def name(e):
    return errno.errorcode[e.errno]


def forget():
    subprocess.run(["ip", "neigh", "flush", "to", peer], check=True, env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"})


def took(since, most):
    return "in time" if time.monotonic() - since < most else f"late ({time.monotonic() - since:.3f} s)"


def echo(s):
    s.settimeout(10)
    s.sendall(b"hello")
    return s.recv(5).decode()


# The first socket opens the device, which takes its time.
with socket.socket(family, socket.SOCK_STREAM) as s:
    s.connect((peer, port))
    print(echo(s))

# A neighbour that answers: no second for a SYN that was lost.
for blocking in (True, False):
    forget()
    s = socket.socket(family, socket.SOCK_STREAM)
    s.setblocking(blocking)
    begin = time.monotonic()
    err = s.connect_ex((peer, port))
    if err == errno.EINPROGRESS:
        select.select([], [s], [], 10)
    print("fresh neighbour", "blocking" if blocking else "not blocking", errno.errorcode.get(err, err), took(begin, 0.5), echo(s))
    s.close()

# Neighbours that do not: the call does not wait for them, and the error comes as from the kernel.
socks, begin = [], time.monotonic()
for to in dead:
    s = socket.socket(family, socket.SOCK_STREAM)
    s.setblocking(False)
    print("dead neighbour", errno.errorcode.get(s.connect_ex((to, 80))))
    socks.append(s)
print("all calls", took(begin, 0.02 * len(dead)))
for s in socks:
    select.select([], [s], [], 20)
    print("then", errno.errorcode.get(s.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)))
    s.close()

# Its time-out and a signal end a call that waits.
s = socket.socket(family, socket.SOCK_STREAM)
s.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("ll", 0, 200000))
begin = time.monotonic()
print("SO_SNDTIMEO", errno.errorcode.get(s.connect_ex((dead[0], 81))), took(begin, 0.7))
s.close()


class Interrupted(Exception):
    pass


def on_alarm(*_):
    raise Interrupted


signal.signal(signal.SIGALRM, on_alarm)
signal.setitimer(signal.ITIMER_REAL, 0.1)
s = socket.socket(family, socket.SOCK_STREAM)
begin = time.monotonic()
try:
    s.connect((dead[1], 82))
except Interrupted:
    print("a signal", took(begin, 0.6))
s.close()
