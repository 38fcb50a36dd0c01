# SPDX-License-Identifier: BSD-2-Clause
"""rcvbuf.py OWN PEER PORT: the receive buffer is a bound, and drops are counted. A reflector is at
PEER PORT. How many datagrams fit depends on the implementation; what is printed must hold for each."""
import struct

from netlib import *

SO_MEMINFO = 55

own, peer, port = sys.argv[1], sys.argv[2], int(sys.argv[3])
s = udp(own)
ctl = udp(own)
s.setsockopt(socket.SOL_SOCKET, SO_RXQ_OVFL, 1)
s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 40000)
say("given", s.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF))


def flood(n, size):
    ctl.sendto(question(count=n, size=size, to=[own, s.getsockname()[1]]), (peer, port))
    ask(ctl, (peer, port))  # its answer shows that all others have been sent


def drain():
    got, drops = 0, 0
    s.settimeout(0.3)
    while True:
        try:
            _, meta, _, _ = recv_meta(s)
        except socket.timeout:
            break
        got += 1
        drops = meta.get("ovfl", drops)
    s.settimeout(TIMEOUT)
    return got, drops


flood(1, 500)
say("no drops, no message", drain())
flood(1000, 500)
got, _ = drain()
say("some came, not all", 5 <= got <= 200)  # virtio_net puts each into a buffer of 4 KiB
flood(1, 500)
n, drops = drain()
say("one more", n, "all are accounted for", got + drops == 1000)
flood(1000, 500)
again, _ = drain()
flood(1, 500)
say("and again", got + again + drain()[1] == 2000)
s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 200000)
flood(1000, 100)
more, _ = drain()
say("a larger buffer holds more", more > got)

# A small buffer is what the program asks for, and the kernel's count of it agrees.
s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
flood(100, 500)
least = struct.unpack("9I", s.getsockopt(socket.SOL_SOCKET, SO_MEMINFO, 36))
got, _ = drain()
flood(1, 500)
say("a small one", 1 <= got <= 20, "as SO_MEMINFO says", least[1] == s.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF),
    500 * got <= least[0] <= 2 * least[1], "and the message", drain()[1] == least[8])

# A socket that is not read does not disturb the others.
t = udp(own)
for _ in range(10):
    flood(500, 1000)
t.settimeout(TIMEOUT)
say("others live on", [ask(t, (peer, port))["len"] for _ in range(50)] == [2] * 50)
