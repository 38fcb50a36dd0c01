# SPDX-License-Identifier: BSD-2-Clause
"""tcp_fastopen_key.py OWN PEER FAR learn|use|own|auto|retry: by which keys a server's Fast Open cookies are made; how a
client asks a server that gives none."""
from tcplib import *

own, peer, far = start()
six = is6(own)
what = sys.argv[4]
MSG_FASTOPEN, TCP_FASTOPEN, FASTOPEN_KEY = 0x20000000, 23, 33
SYN_DATA = 32
SAVE_SYN, SAVED_SYN = 27, 28
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


def option(syn):
    """The Fast Open option of a SYN that begins with the IP header."""
    tcp_header = syn[40:] if syn[0] >> 4 == 6 else syn[(syn[0] & 15) * 4:]
    opts = tcp_header[20:(tcp_header[12] >> 4) * 4]
    while opts and opts[0]:
        n = 1 if opts[0] == 1 else opts[1]
        if opts[0] in (34, 254):
            return opts[:n].hex()
        opts = opts[n:]
    return "none"


def retry():
    fl = far.tcp(peer, 7001, 5)
    fl.setsockopt(TCP, SAVE_SYN, 1)
    for _ in range(4):
        s = tcp(six=six)
        s.sendto(data, MSG_FASTOPEN, (peer, 7001))
        f, _ = fl.accept()
        say("asks by", option(f.getsockopt(TCP, SAVED_SYN, 256)), f.take(100) == data)
        s.close()
        f.to_end()
        f.close()
    fl.close()


if what == "retry":
    retry()
    sys.exit()
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
