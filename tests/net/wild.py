# SPDX-License-Identifier: BSD-2-Clause
"""wild.py PORT ADDRESS...: asks at each address a server that is bound to the wildcard, and says
what it saw and from where it answered. (Sockets block when they are first used: then they wait for the
link of a device that is taken into use, which is lost by that with some drivers.)"""
from netlib import *

port = int(sys.argv[1])
for addr in sys.argv[2:]:
    s = udp(addr, None, None)
    s.connect((addr, port))
    s.settimeout(1)
    s.send(question())
    try:
        d = answer(s)
        say(addr, "answered; dst", d["dst"], "ttl", d["ttl"], "tos", d["tos"], "from", d["from"])
        say(addr, "and again", sum(ask(s, None)["dst"] == d["dst"] for _ in range(20)))
    except OSError as e:
        say(addr, "connected:", "timeout" if isinstance(e, socket.timeout) else name_of(e.errno))
    s.close()
    s = udp(addr, None, None)
    s.sendto(question(), (addr, port))
    s.settimeout(1)
    try:
        _, sender = s.recvfrom(1000)
        say(addr, "unconnected: answer from", sender[0])
    except OSError as e:
        say(addr, "unconnected:", "timeout" if isinstance(e, socket.timeout) else name_of(e.errno))
    s.close()
