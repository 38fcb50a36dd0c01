# SPDX-License-Identifier: BSD-2-Clause
"""tcp_wire.py OWN PEER FAR BYTES: connections over a lossy wire are made, used in both directions, and ended."""
from tcplib import *

own, peer, far = start()
size = int(sys.argv[4])
for name, s, f in both_ways(own, peer, far, 7000):
    say(name)
    later = far.later(f, "swap", 2, 1, size)
    say("both ways", swap(s, 1, 2, size), later())
    for i in range(5):
        s.send(b"%03d" % i)
        f.send(f.take(3))
        assert take(s, 3) == b"%03d" % i
    say("questions and answers")
    s.shutdown(socket.SHUT_WR)
    say("the end", f.to_end(), f.send(b"bye"), f.close(), to_end(s))
    s.close()
say("done")
