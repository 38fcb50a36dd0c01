# SPDX-License-Identifier: BSD-2-Clause
"""wild.py PORT ADDRESS...: asks at each address a server that is bound to the wildcard, and says
what it saw and from where it answered."""
from netlib import *

port = int(sys.argv[1])
for addr in sys.argv[2:]:
    s = udp(addr, None)
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
    s = udp(addr, None)
    s.settimeout(1)
    s.sendto(question(), (addr, port))
    try:
        _, sender = s.recvfrom(1000)
        say(addr, "unconnected: answer from", sender[0])
    except OSError as e:
        say(addr, "unconnected:", "timeout" if isinstance(e, socket.timeout) else name_of(e.errno))
    s.close()
