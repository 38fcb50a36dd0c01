#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""OWN PEER PORT SLUICE [NAME]: sockets that ask for receive stamps, of the hardware or not, before or after they are bound or
connected; all of them carry a message to PEER PORT and back, or are asked by none. Then it says of each whether Sluice
has it (by sluice stat), and why not. NAME: that socket alone, whose device nobody has opened before."""
import json
import os
import socket
import subprocess
import sys

own, to = sys.argv[1], (sys.argv[2], int(sys.argv[3]))
SO_TIMESTAMPING, RX_HW, RX_SW, SW, RAW = 37, 4, 8, 16, 64
socks = {}


def make(name, kind, flags, first, name_it):
    if len(sys.argv) > 5 and name != sys.argv[5]:
        return None
    s = socket.socket(socket.AF_INET, kind)
    s.settimeout(10)
    if first and flags:
        s.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPING, flags)
    name_it(s)
    if not first:
        s.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPING, flags)
    socks[s.fileno()] = name
    return s


def bound(s):
    s.bind((own, 0))
    s.sendto(b"hello", to)
    assert s.recv(100) == b"hello"


def connected(s):
    s.connect(to)
    s.send(b"hello")
    assert s.recv(100) == b"hello"


def listening(s):
    s.bind((own, 0))
    s.listen()


def member(group, join_first=False):
    def name_it(s):
        steps = [lambda: s.bind((group, 7005)),
                 lambda: s.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, socket.inet_aton(group) + socket.inet_aton(own))]
        for step in reversed(steps) if join_first else steps:
            step()
    return name_it


U, T = socket.SOCK_DGRAM, socket.SOCK_STREAM
kept = [
    make("datagrams, none", U, 0, True, bound),
    make("datagrams, software's", U, RX_SW | SW, True, bound),
    make("datagrams, the hardware's of what is sent", U, RAW | 1, True, bound),
    make("datagrams, the hardware's, then bound", U, RAW | RX_HW, True, bound),
    make("datagrams, bound, then the hardware's", U, RAW | RX_HW, False, bound),
    make("datagrams, the hardware's, then connected", U, RAW | RX_HW, True, connected),
    make("datagrams, connected, then the hardware's", U, RAW | RX_HW, False, connected),
    make("stream, software's", T, RX_SW | SW, True, connected),
    make("stream, the hardware's, then connected", T, RAW | RX_HW, True, connected),
    make("stream, connected, then the hardware's", T, RAW | RX_HW, False, connected),
    make("group, none", U, 0, True, member("239.1.1.1")),
    make("group, software's", U, RX_SW | SW, True, member("239.1.1.2")),
    make("group, the hardware's, then bound, then joined", U, RAW | RX_HW, True, member("239.1.1.3")),
    make("group, the hardware's, then joined, then bound", U, RAW | RX_HW, True, member("239.1.1.4", True)),
    make("group, bound, joined, then the hardware's", U, RAW | RX_HW, False, member("239.1.1.5")),
    make("listener, none", T, 0, True, listening),
    make("listener, the hardware's", T, RAW | RX_HW, True, listening),
]
for s in filter(None, kept):
    if s.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN) == 0 and s.getsockname()[1] != 7005:
        s.sendto(b"again", to) if s.type == U else s.send(b"again")
        assert s.recv(100) == b"again"
out = subprocess.run([sys.argv[4], "stat", "-p", str(os.getpid()), "--json"], capture_output=True, text=True,
                     env={**{k: v for k, v in os.environ.items() if k != "LD_PRELOAD"}}).stdout
for s in json.loads(out)["sockets"]:
    name = socks.get(s["fd"])
    if name:
        print(name + ":", "offloaded" if s["offloaded"] else s["reason"])
