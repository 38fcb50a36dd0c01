# SPDX-License-Identifier: BSD-2-Clause
"""tcp_backlog.py OWN PEER FAR: how many connections wait for accept(2) with a small backlog, and what becomes of the
rest; the backlog that a second listen(2) sets, and the machine's limit of it."""
from tcplib import *

own, peer, far = start()
LIMIT = "/proc/sys/net/core/somaxconn"


def limit(n):
    with open(LIMIT, "w") as f:
        f.write("%d" % n)


def waiting(ls):
    """How many wait, and how many may (tcp_get_info())."""
    info = ls.getsockopt(TCP, socket.TCP_INFO, 104)
    return struct.unpack_from("II", info, 24)


def fill(ls, port, n, what):
    """Connects one after the other: n get in, the next two do not. (The time is for those that do not.)"""
    fars = []
    for i in range(n):
        f = far.begin_connect(own, port)
        say(what, i, f.settles("OUT"))
        fars.append(f)
    settles(ls, "IN")
    end = time.monotonic() + WAIT
    while waiting(ls)[0] < n and time.monotonic() < end:
        time.sleep(0.01)
    late = [far.begin_connect(own, port) for _ in range(2)]
    time.sleep(0.2)
    say(what, "the rest", [f.polled() for f in late], "waiting", waiting(ls))
    return fars, late


def end(ls, fars):
    for f in fars:
        f.close()
    ls.close()


port = 7100
for backlog in 0, 1, 2, 3:
    port += 1
    ls = tcp(own, port, backlog)
    fars, late = fill(ls, port, backlog + 1, backlog)
    # Each connection that is accepted makes room for one, which comes when its SYN is repeated.
    got = [ls.accept()[0] for _ in fars]
    ls.setblocking(False)
    say(backlog, "accepted", len(got), attempt(ls.accept))
    say(backlog, "then", settles(ls, "IN"), len([f for f in late if f.settles("OUT")]) >= min(2, backlog + 1))
    end(ls, fars + late + got)

# A second listen(2).
port += 1
ls = tcp(own, port, 0)
fars, late = fill(ls, port, 1, "listen(0)")
say("listen(3)", attempt(ls.listen, 3), waiting(ls)[1])
more = [f.settles("OUT") for f in late]
say("then", more, waiting(ls)[0])
f = far.begin_connect(own, port)
say("a fourth", f.settles("OUT"))
say("listen(1)", attempt(ls.listen, 1), waiting(ls))
g = far.begin_connect(own, port)
time.sleep(0.2)
say("a fifth", g.polled())
end(ls, fars + late + [f, g])

# The machine's limit.
limit(1)
port += 1
ls = tcp(own, port, 100)
fars, late = fill(ls, port, 2, "somaxconn 1")
limit(3)
say("3", waiting(ls)[1], attempt(ls.listen, 100), waiting(ls)[1])
say("then", [f.settles("OUT") for f in late])
end(ls, fars + late)
limit(4096)
for n in -1, 0x7FFFFFFF, 65536, 5000:
    port += 1
    ls = tcp(own, port, 5)
    say("listen", n, ctypes.CDLL(None).listen(ls.fileno(), n), waiting(ls)[1])
    ls.close()
