# SPDX-License-Identifier: BSD-2-Clause
"""jumbo_fork.py read OWN PORT READY: a child reads the datagrams, of all lengths, that its parent's socket received
before the fork. jumbo_fork.py send OWN PORT: sends them."""
import hashlib
import os
import random
import time

from netlib import *

SEED = random.Random(1)
DATAGRAMS = [SEED.randbytes(SEED.randrange(20, 8950)) for _ in range(40)]


def send(peer, port):
    s = udp("::" if is6(peer) else "0.0.0.0")
    for d in DATAGRAMS:
        s.sendto(d, (peer, port))


def read(own, port, ready):
    s = udp(own, port)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
    open(ready, "w").close()
    s.recv(1, socket.MSG_PEEK)
    time.sleep(0.5)
    child = os.fork()
    if child:
        say("child", os.waitpid(child, 0)[1])
        return
    s.settimeout(2)
    got = []
    try:
        while len(got) < len(DATAGRAMS):
            got.append(s.recv(65536))
    except TimeoutError:
        pass
    for d in got:
        say(len(d), hashlib.md5(d).hexdigest())
    os._exit(0)


if sys.argv[1] == "send":
    send(sys.argv[2], int(sys.argv[3]))
else:
    read(sys.argv[2], int(sys.argv[3]), sys.argv[4])
