# SPDX-License-Identifier: BSD-2-Clause
"""reuse.py OWN PEER PORT NPORTS: several sockets on one port. A reflector with NPORTS ports is at
PEER PORT: each of its ports is a flow."""
from netlib import *

own, peer, port, nports = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])


def bound(option, to):
    s = udp(own, None)
    if option:
        s.setsockopt(socket.SOL_SOCKET, option, 1)
    got = attempt(s.bind, (own, to))
    return s if got is None else got


def have_sent(to, count=1):
    """Has every port of the reflector send to our port `to`."""
    ctl = udp(own)
    for i in range(nports):
        ctl.sendto(question(to=[own, to], count=count), (peer, port + i))
        if i % 16 == 15:
            ask(ctl, (peer, port + i))
    ask(ctl, (peer, port))


def collect(socks, total):
    """Counts what each socket got: a list of dictionaries sender -> count."""
    got = [{} for _ in socks]
    while sum(sum(g.values()) for g in got) < total:
        ready = select.select(socks, [], [], TIMEOUT)[0]
        if not ready:
            break
        for s in ready:
            sender = s.recvfrom(1000)[1][1]
            g = got[socks.index(s)]
            g[sender] = g.get(sender, 0) + 1
    return got


a = bound(None, 7200)
say("second without an option:", bound(None, 7200), bound(socket.SO_REUSEADDR, 7200))
a.close()

socks = [bound(socket.SO_REUSEADDR, 7201) for _ in range(2)]
have_sent(7201)
got = collect(socks, nports)
say("REUSEADDR: the last one gets it:", [sum(g.values()) for g in got])
socks[1].close()
have_sent(7201)
say("then the first:", [sum(g.values()) for g in collect(socks[:1], nports)])
socks[0].close()

socks = [bound(socket.SO_REUSEPORT, 7202) for _ in range(4)]
say("without the option:", bound(None, 7202))
have_sent(7202, 4)
got = collect(socks, nports * 4)
flows = [f for g in got for f in g]
say("REUSEPORT: all came", sum(sum(g.values()) for g in got) == nports * 4)
say("each flow to one socket", len(flows) == len(set(flows)) == nports)
say("spread over more than one socket", sum(1 for g in got if g) > 1)
say("nothing more", [nothing_comes(s, 0.05) for s in socks])
for s in socks[1:]:
    s.close()
have_sent(7202)
say("the rest goes to who is left", sum(collect(socks[:1], nports)[0].values()))
