# SPDX-License-Identifier: BSD-2-Clause
"""tcp_fastopen_key.py OWN PEER FAR learn|use|own|auto: by which keys a server's Fast Open cookies are made."""
from tcplib import *

own, peer, far = start()
six = is6(own)
what = sys.argv[4]
MSG_FASTOPEN, TCP_FASTOPEN, FASTOPEN_KEY = 0x20000000, 23, 33
SYN_DATA = 32
data = pattern(1, 0, 100)


def syn_data(s):
    return bool(s.getsockopt(TCP, socket.TCP_INFO, 8)[5] & SYN_DATA)


def with_syn(ls):
    """Whether the data of the far end's next connection come with its SYN, as both ends tell."""
    f = far.tcp(six=six)
    f.sendto(data, MSG_FASTOPEN, ls.getsockname()[:2])
    s, _ = ls.accept()
    out = take(s, 100) == data, syn_data(s), syn_data(f)
    f.close()
    s.recv(1)
    s.close()
    return out


def keys(ls, *numbers):
    ls.setsockopt(TCP, FASTOPEN_KEY, b"".join(random.Random(n).randbytes(16) for n in numbers))
    return len(ls.getsockopt(TCP, FASTOPEN_KEY, 32))


ls = tcp(own, 7000, 5)
if what == "auto":
    say("by the machine:", ls.getsockopt(TCP, TCP_FASTOPEN), with_syn(ls)[0], with_syn(ls))
    sys.exit()
ls.setsockopt(TCP, TCP_FASTOPEN, 5)
if what == "learn":
    say("asked:", with_syn(ls)[0])
elif what == "use":
    say("a cookie of the kernel's:", with_syn(ls), with_syn(ls))
else:
    say("another key:", keys(ls, 1), with_syn(ls), with_syn(ls))
    say("as the second:", keys(ls, 2, 1), with_syn(ls))
    say("another again:", keys(ls, 3), with_syn(ls), with_syn(ls))
    say("wrong:", attempt(ls.setsockopt, TCP, FASTOPEN_KEY, bytes(15)))
