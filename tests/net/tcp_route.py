# SPDX-License-Identifier: BSD-2-Clause
"""tcp_route.py OWN PEER FAR CASE: what one metric of the route to the peer does to connections both ways. The case is
the metric's name in ip-route(8), or "none"."""
from tcplib import *

own, peer, far = start()
case = sys.argv[4]
MSG_FASTOPEN, TCP_FASTOPEN = 0x20000000, 23
OPTIONS, RTO, SSTHRESH, CWND, REORDERING, SND_WND = 5, 8, 76, 80, 88, 228  # in struct tcp_info
ECN, SYN_DATA = 8, 32
ROUNDS = 10


def info(s, at, kind="I"):
    return struct.unpack_from(kind, s.getsockopt(TCP, socket.TCP_INFO, 240), at)[0]


def answers(s, f):
    """How the ACKs of single bytes come when the program is one that answers: at once, or delayed."""
    for _ in range(20):
        f.send(b"q")
        s.recv(1)
        s.send(b"a")
        f.recv(1)
    began = time.monotonic()
    for _ in range(ROUNDS):
        f.send(b"x")
        s.recv(1)
        far.call("acked", f)
    return "at once" if time.monotonic() - began < ROUNDS * 0.025 else "late"


def grown(s, f):
    """The congestion window after much data."""
    s.setsockopt(SOL, socket.SO_SNDBUF, 1 << 20)
    most = 0
    for _ in range(40):
        s.sendall(bytes(50000))
        far.call("skip", f, 50000)
        most = max(most, info(s, CWND))
    return most


sniffer = far.call("sniff") if case == "mtu" else None


def look(name, s, f):
    if case in ("rto_min", "rtt"):
        before = info(s, RTO)
        s.send(b"x")
        f.recv(1)
        wait_for(lambda: not ioctl_int(s, SIOCOUTQ))
        say(name, "first time-out", "short" if before < 150000 else "long" if before > 1000000 else "usual",
            "later", "short" if info(s, RTO) < 150000 else "usual")
    elif case == "cwnd":
        say(name, "cwnd", info(s, CWND), "grown", "more" if grown(s, f) > 16 else grown(s, f))
    elif case in ("initrwnd", "window"):
        say(name, "the peer sees", info(f, SND_WND))
    elif case == "quickack":
        say(name, answers(s, f))
    elif case == "features":
        say(name, "ECN", bool(info(s, OPTIONS, "B") & ECN), bool(info(f, OPTIONS, "B") & ECN))
    elif case in ("ssthresh", "reordering"):
        s.send(b"x")
        f.recv(1)
        say(name, info(s, SSTHRESH if case == "ssthresh" else REORDERING))
    elif case == "mtu":
        say(name, "MSS", info(s, 16), "DF", far.call("has_df", sniffer, f.getpeername()[1]))
    elif case == "none":
        s.send(b"x")
        f.recv(1)
        say(name, info(s, CWND), info(s, REORDERING), bool(info(s, OPTIONS, "B") & ECN))


def fast_open():
    """Data with a SYN to the peer, and from it, without a cookie."""
    fl = far.tcp(peer, 7010, 5)
    fl.setsockopt(TCP, TCP_FASTOPEN, 5)
    s = tcp(six=is6(peer))
    say("sent", attempt(s.sendto, b"hello", MSG_FASTOPEN, (peer, 7010)))
    f, _ = fl.accept()
    say("read", f.recv(5), "with the SYN", bool(info(s, OPTIONS, "B") & SYN_DATA))
    s.close()
    f.close()
    ls = tcp(own, 7011, 5)
    ls.setsockopt(TCP, TCP_FASTOPEN, 5)
    f = far.tcp(six=is6(own))
    f.setsockopt(TCP, 34, 1)  # TCP_FASTOPEN_NO_COOKIE
    say("far sent", f.sendto(b"hello", MSG_FASTOPEN, (own, 7011)))
    s, _ = ls.accept()
    say("read", s.recv(5), "with the SYN", bool(info(s, OPTIONS, "B") & SYN_DATA))


if case == "fastopen_no_cookie":
    fast_open()
else:
    # Some metrics count for the second connection to a peer; of ours, for the second of a lane.
    late = case in ("cwnd", "rtt", "ssthresh", "reordering")
    for port in (7000, 7002):
        for name, s, f in both_ways(own, peer, far, port):
            if late and name == "passive" and port == 7000:
                s.send(b"x")
                f.recv(1)
            else:
                look(name, s, f)
            s.close()
            f.close()
        wait_for(lambda: False, 0.05)
say("done")
