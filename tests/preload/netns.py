# SPDX-License-Identifier: BSD-2-Clause
"""Sockets of one network namespace, used by a thread in another one whose device has the same number:
netns.py PEER PORT DEVICE."""
import ctypes
import os
import socket
import subprocess
import sys

NEWNET = 0x40000000
libc = ctypes.CDLL(None, use_errno=True)
peer, port, device = sys.argv[1], int(sys.argv[2]), sys.argv[3]
env = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}


def ip(*args):
    return subprocess.run(("ip",) + args, env=env, check=True, capture_output=True, text=True).stdout


def talk(what, s, u):
    try:
        s.connect((peer, port))
        s.sendall(b"hello")
        print(what, "stream", s.recv(9))
        u.sendto(b"hello", (peer, port))
        print(what, "datagram", u.recv(9))
    except OSError as e:
        print(what, type(e).__name__)


def sockets():
    both = socket.socket(), socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    for s in both:
        s.settimeout(3)
    return both


index = str(socket.if_nametoindex(device))
home = os.open("/proc/self/ns/net", os.O_RDONLY)
first = sockets()
assert libc.unshare(NEWNET) == 0
ip("link", "add", "same", "index", index, "type", "veth", "peer", "name", "other", "index", "99")
ip("link", "set", "same", "up")
ip("link", "set", "other", "up")
talk("from elsewhere:", *first)
foreign = sockets()
links = ip("-d", "-o", "link")
print("attached" if "xdp" in links or ": sluice" in links else "nothing is attached there")
assert libc.setns(home, NEWNET) == 0
talk("back:", *sockets())
talk("of elsewhere:", *foreign)
