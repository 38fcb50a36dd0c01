# SPDX-License-Identifier: BSD-2-Clause
"""rules.py OWN PEER PORT FILE: opens a socket, asks the reflector at PEER PORT 100 times and says so in
FILE; for each line that comes on standard input does it again: "new" with a new socket, "old"
with the first, "last" with the last, "connect" with a new connected one, "held" with the first of these."""
from netlib import *

own, peer, port, path = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]


def done(what):
    with open(path, "a") as f:
        f.write(what + "\n")


def ask_often(s, to):
    for _ in range(100):
        assert ask(s, to)["from"] == own


first = udp(own)
ask_often(first, (peer, port))
done("first")
keep, held = [], None
for line in sys.stdin:
    what = line.strip()
    if what == "old":
        ask_often(first, (peer, port))
    elif what == "new":
        keep.append(udp(own))
        ask_often(keep[-1], (peer, port))
    elif what == "last":
        ask_often(keep[-1], (peer, port))
    elif what == "held":
        ask_often(held, None)
    elif what == "connect":
        s = udp(own, None)
        s.connect((peer, port))
        ask_often(s, None)
        held = held or s
        keep.append(s)
    done(what)
