# SPDX-License-Identifier: BSD-2-Clause
"""stamp.py OWN PEER PORT: receive time stamps. A reflector is at PEER PORT."""
import time

from netlib import *

own, peer, port = sys.argv[1], sys.argv[2], int(sys.argv[3])
s = udp(own)


def stamps(n=5):
    """Names of the stamps seen, and whether each was between question and look."""
    names, good, last = set(), True, 0
    for _ in range(n):
        before = time.time()
        s.sendto(question(size=100), (peer, port))
        select.select([s], [], [], 30)
        time.sleep(0.02)  # a stamp is of the arrival, not of the call that reads it
        between = time.time()
        meta = recv_meta(s)[1]
        for name, unit in (("stamp", 1e6), ("stampns", 1e9)):
            if name in meta:
                t = meta[name][0] + meta[name][1] / unit
                good = good and before - 0.001 <= t <= between + 0.001 and t >= last
                last = t
                names.add(name)
    return sorted(names), good


say("none", stamps())
s.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMP, 1)
stamps(1)  # the first one may be stamped late: it was on its way when stamping was switched on
say("TIMESTAMP", s.getsockopt(socket.SOL_SOCKET, SO_TIMESTAMP), stamps())
s.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMP, 0)
s.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
say("TIMESTAMPNS", s.getsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS), stamps())
s.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 0)
say("off", s.getsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS), stamps())
# A veth has no hardware stamps: control messages of the kernel for it, with and without software stamps.
RX_HARDWARE, RX_SOFTWARE, SOFTWARE, RAW_HARDWARE = 4, 8, 16, 64
for flags in (RX_HARDWARE | RAW_HARDWARE, RX_HARDWARE | RAW_HARDWARE | RX_SOFTWARE | SOFTWARE, RAW_HARDWARE, 0):
    s.setsockopt(socket.SOL_SOCKET, 37, flags)
    s.sendto(question(size=100), (peer, port))
    cmsgs = s.recvmsg(2000, 500)[1]
    say("TIMESTAMPING", flags, s.getsockopt(socket.SOL_SOCKET, 37),
        [(k, len(d), [w != 0 for w in struct.unpack("6q", d)[::2]]) for lv, k, d in cmsgs if (lv, k) == (1, 37)])
