# SPDX-License-Identifier: BSD-2-Clause
"""wild.py PORT ADDRESS...: asks a server that is bound to the wildcard at each ADDRESS; prints what the server saw,
and the address that it answered from. (Sockets are blocking at their first use, since some drivers lose the link when
a device is taken into use: a blocking call waits for the link.)"""
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
