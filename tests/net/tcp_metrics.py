# SPDX-License-Identifier: BSD-2-Clause
"""tcp_metrics.py OWN PEER FAR: the effect of a route's metrics on connections to the peer and from it."""
from tcplib import *

own, peer, far = start()
TCP_CC_INFO = 26
ADVMSS, SND_CWND = 8 + 19 * 4, 8 + 18 * 4  # in struct tcp_info


def info(s, at):
    return struct.unpack_from("I", s.getsockopt(TCP, socket.TCP_INFO, 232), at)[0]


for name, s, f in both_ways(own, peer, far, 7000):
    s.send(b"x")
    f.recv(1)
    cc = s.getsockopt(TCP, socket.TCP_CONGESTION, 16).rstrip(b"\0")
    # BBR's is struct tcp_bbr_info: rate, round trip and gains.
    say("   ", cc, "TCP_CC_INFO", len(s.getsockopt(TCP, TCP_CC_INFO, 64)))
    say(name, info(s, ADVMSS), info(s, SND_CWND), "the peer's MSS", f.getsockopt(TCP, socket.TCP_MAXSEG))
    s.close()
    f.close()


def smaller(s):
    s.setsockopt(TCP, socket.TCP_MAXSEG, 700)


for make, port in (pair, 7001), (accepted, 7002):
    s, f = make(own, peer, far, port, smaller)
    say("TCP_MAXSEG", info(s, ADVMSS), f.getsockopt(TCP, socket.TCP_MAXSEG))
    s.close()
    f.close()
say("done")
