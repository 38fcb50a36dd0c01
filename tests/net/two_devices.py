# SPDX-License-Identifier: BSD-2-Clause
"""two_devices.py PORT PEER...: one socket, bound to the wildcard, and reflectors on several networks."""
from netlib import *

port = int(sys.argv[1])
s = udp("0.0.0.0", 7800)
for round in range(20):
    for peer in sys.argv[2:]:
        for i in range(32):
            s.sendto(b"%d" % i, (peer, port + i))
    got = set(s.recvfrom(1000)[1] for _ in range(32 * len(sys.argv[2:])))
    assert len(got) == 32 * len(sys.argv[2:]), got
say(len(got), "peers answered", sorted(set(a for a, _ in got)) == sorted(sys.argv[2:]))
