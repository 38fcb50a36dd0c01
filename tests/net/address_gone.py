#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""address_gone.py OWN PEER DIR: sockets on an address that is taken off the host and comes back. A file in DIR tells the
script of each moment, and one from it that the change is done.
address_gone.py OWN PEER: the peer. It echoes datagrams at 7000 and streams at 7001, and at SIGUSR1 sends both unasked."""
import os
import select
import signal
import socket
import sys
import time

own, peer, *rest = sys.argv[1:]
fam = socket.AF_INET6 if ":" in own else socket.AF_INET
moment = 0


def serve():
    udp = socket.socket(fam, socket.SOCK_DGRAM)
    udp.bind((peer, 7000))
    listener = socket.create_server((peer, 7001), family=fam)
    conns = []

    def unasked(*_):
        udp.sendto(b"unasked", (own, 7002))
        for s in conns:
            s.send(b"unasked")

    signal.signal(signal.SIGUSR1, unasked)
    while True:
        for s in select.select([udp, listener, *conns], [], [])[0]:
            if s is listener:
                conns.append(s.accept()[0])
            elif s is udp:
                udp.sendto(*udp.recvfrom(100))
            else:
                try:
                    text = s.recv(100)
                except ConnectionResetError:
                    text = b""
                conns.remove(s) if not text else s.send(text)


if not rest:
    serve()
folder = rest[0]


def change():
    """Has the script make its next change."""
    global moment
    moment += 1
    open(f"{folder}/ask.{moment}", "w").close()
    while not os.path.exists(f"{folder}/done.{moment}"):
        time.sleep(0.01)


def echo(s, text, seconds):
    try:
        s.settimeout(seconds)
        s.send(text)
        return s.recv(100)
    except OSError as e:
        return type(e).__name__ if isinstance(e, TimeoutError) else os.strerror(e.errno)


def heard(s, seconds):
    try:
        s.settimeout(seconds)
        return s.recv(100)
    except TimeoutError:
        return "nothing"


u = socket.socket(fam, socket.SOCK_DGRAM)
u.bind((own, 7002))
c = socket.socket(fam, socket.SOCK_DGRAM)
c.bind((own, 7003))
c.connect((peer, 7000))
t = socket.create_connection((peer, 7001), 5, (own, 0))
print("there", echo(c, b"one", 5), echo(t, b"one", 5))
change()  # the peer sends unasked
print("datagram", heard(u, 5), "segment", heard(t, 5))
change()  # the address is taken off; the peer sends unasked
print("gone", heard(u, 0.2), heard(t, 0.1))
change()  # it is back
print("what was on its way", heard(t, 10))
print("back", echo(c, b"two", 5), echo(t, b"two", 5))
change()  # the peer sends unasked
print("datagram", heard(u, 5), "segment", heard(t, 5))
change()  # it is taken off, and a route makes it local; the peer sends unasked
print("by a route", heard(u, 5))
