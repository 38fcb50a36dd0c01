# SPDX-License-Identifier: BSD-2-Clause
"""tcp_options.py OWN PEER FAR: options of a TCP socket: a value that was set can be read, before the connection, in
it, and in connections that a listener accepts; wrong values are refused as by the kernel."""
from tcplib import *

own, peer, far = start()
six = is6(own)
IP, IP6 = socket.IPPROTO_IP, socket.IPPROTO_IPV6

INTS = [  # level, name, number, values to try
    (SOL, "REUSEADDR", 2, (1, 0)), (SOL, "REUSEPORT", 15, (1, 0)), (SOL, "KEEPALIVE", 9, (1, 0)),
    (SOL, "OOBINLINE", 10, (1, 0)), (SOL, "DONTROUTE", 5, (1, 0)), (SOL, "BROADCAST", 6, (1, 0)),
    (SOL, "RCVLOWAT", 18, (100, 0, 1)), (SOL, "SNDLOWAT", 19, (5,)), (SOL, "PRIORITY", 12, (3, 0)),
    (SOL, "RCVBUF", 8, (1000, 50000, 100000)), (SOL, "SNDBUF", 7, (1000, 50000, 100000)),
    (SOL, "RCVBUFFORCE", 33, (120000,)), (SOL, "SNDBUFFORCE", 32, (120000,)),
    (SOL, "TIMESTAMP", 29, (1, 0)), (SOL, "MARK", 36, (0,)), (SOL, "BUSY_POLL", 46, (0,)),
    (SOL, "MAX_PACING_RATE", 47, (1000000, -1)), (SOL, "ZEROCOPY", 60, (1, 0)), (SOL, "LOCK_FILTER", 44, ()),
    (SOL, "TYPE", 3, (1,)), (SOL, "PROTOCOL", 38, (6,)), (SOL, "DOMAIN", 39, (2,)),
    (SOL, "ACCEPTCONN", 30, (1,)), (SOL, "ERROR", 4, (1,)), (SOL, "no such", 999, (1,)),
    (TCP, "NODELAY", 1, (1, 0, 5)), (TCP, "CORK", 3, (1, 0)), (TCP, "MAXSEG", 2, (500, 10, 99999)),
    (TCP, "KEEPIDLE", 4, (10, 0, 32768)), (TCP, "KEEPINTVL", 5, (3, 0, 32768)),
    (TCP, "KEEPCNT", 6, (3, 0, 128)), (TCP, "SYNCNT", 7, (3, 0, 256)), (TCP, "LINGER2", 8, (5, 0, -1)),
    (TCP, "DEFER_ACCEPT", 9, (5, 0)), (TCP, "WINDOW_CLAMP", 10, (20000, 100, 0)),
    (TCP, "USER_TIMEOUT", 18, (5000, -1, 0)), (TCP, "NOTSENT_LOWAT", 25, (4096, 0)),
    (TCP, "THIN_LINEAR", 16, (1, 0)), (TCP, "THIN_DUPACK", 17, (1,)), (TCP, "SAVE_SYN", 27, (1, 0)),
    (TCP, "FASTOPEN_NO_COOKIE", 34, (1, 0)), (TCP, "INQ", 36, (1, 0)), (TCP, "no such", 999, (1,)),
    (IP, "TOS", 1, (0x10, 0)), (IP, "TTL", 2, (33, 64, 300, 0)), (IP, "MTU_DISCOVER", 10, (2, 1, 9)),
    (IP, "RECVERR", 11, (1, 0)), (IP, "TRANSPARENT", 19, (0,)), (IP, "FREEBIND", 15, (1, 0)),
    (IP, "no such", 999, (1,)),
]
INTS6 = [
    (IP6, "V6ONLY", 26, ()), (IP6, "UNICAST_HOPS", 16, (33, 300, -1)), (IP6, "TCLASS", 67, (0x10, 0)),
    (IP6, "MTU_DISCOVER", 23, (2, 1)), (IP6, "RECVERR", 25, (1, 0)), (IP6, "RECVPKTINFO", 49, (1, 0)),
    (IP6, "no such", 999, (1,)),
]
# Values that depend on the machine's limits or on the moment are not printed as numbers.
LOOSE = {"RCVBUF", "SNDBUF", "WINDOW_CLAMP"}
if six:
    INTS = [row for row in INTS if row[0] != IP] + INTS6


def every_option(s, settable):
    for level, name, number, values in INTS:
        first = attempt(s.getsockopt, level, number)
        if name in LOOSE:
            first = isinstance(first, int)
        tried = []
        for value in values if settable else ():
            tried.append((value, attempt(s.setsockopt, level, number, value),
                          attempt(s.getsockopt, level, number)))
        say("  ", level, name, first, *tried)


def settled(s, number):
    """The ioctl's value when it stays: an acknowledgment may be under way for some milliseconds."""
    was = attempt(ioctl_int, s, number)
    while True:
        time.sleep(0.005)
        now = attempt(ioctl_int, s, number)
        if now == was:
            return now
        was = now


def special(s):
    s.setsockopt(SOL, socket.SO_LINGER, struct.pack("ii", 1, 7))
    say("   LINGER", struct.unpack("ii", s.getsockopt(SOL, socket.SO_LINGER, 8)))
    s.setsockopt(SOL, socket.SO_LINGER, struct.pack("ii", 0, 0))
    for name in (socket.SO_RCVTIMEO, socket.SO_SNDTIMEO):
        s.setsockopt(SOL, name, struct.pack("qq", 3, 500000))
        say("   TIMEO", struct.unpack("qq", s.getsockopt(SOL, name, 16)),
            attempt(s.setsockopt, SOL, name, struct.pack("qq", 0, 1000001)),
            attempt(s.setsockopt, SOL, name, b"1234"))
        s.setsockopt(SOL, name, struct.pack("qq", 0, 0))
    for name in (b"reno", b"cubic", b"no-such-one", b""):
        say("   CONGESTION", name, attempt(s.setsockopt, TCP, socket.TCP_CONGESTION, name),
            s.getsockopt(TCP, socket.TCP_CONGESTION, 16).split(b"\0")[0])
    say("   CONGESTION cut", s.getsockopt(TCP, socket.TCP_CONGESTION, 3))
    say("   ULP", attempt(s.setsockopt, TCP, 31, b"no-such-one"))
    say("   short", attempt(s.setsockopt, TCP, socket.TCP_NODELAY, b"\1"),
        attempt(s.setsockopt, SOL, socket.SO_KEEPALIVE, b"\1"),
        s.getsockopt(TCP, socket.TCP_NODELAY, 2), s.getsockopt(SOL, socket.SO_KEEPALIVE, 1))
    say("   long", attempt(s.setsockopt, TCP, socket.TCP_NODELAY, bytes(8)),
        len(s.getsockopt(TCP, socket.TCP_NODELAY, 100)))
    length = ctypes.c_int(-1)
    value = ctypes.create_string_buffer(8)
    say("   bad", raw("getsockopt", s.fileno(), TCP, 1, value, ctypes.byref(length)),
        raw("getsockopt", s.fileno(), TCP, 1, None, ctypes.byref(ctypes.c_int(4))),
        raw("setsockopt", s.fileno(), TCP, 1, None, 4), raw("setsockopt", 999, TCP, 1, value, 4),
        raw("setsockopt", s.fileno(), 77, 1, value, 4), raw("getsockopt", s.fileno(), 77, 1, value,
                                                           ctypes.byref(ctypes.c_int(4))))
    say("   flags", fcntl.fcntl(s, fcntl.F_GETFL) & (os.O_NONBLOCK | os.O_ASYNC))
    fcntl.ioctl(s, termios.FIONBIO, struct.pack("i", 1))
    say("   FIONBIO", bool(fcntl.fcntl(s, fcntl.F_GETFL) & os.O_NONBLOCK), attempt(s.recv, 1))
    fcntl.ioctl(s, termios.FIONBIO, struct.pack("i", 0))
    fcntl.fcntl(s, fcntl.F_SETOWN, os.getpid())
    say("   owner", fcntl.fcntl(s, fcntl.F_GETOWN) == os.getpid())
    for name, number in (("FIONREAD", FIONREAD), ("SIOCOUTQ", SIOCOUTQ), ("SIOCOUTQNSD", SIOCOUTQNSD),
                         ("SIOCATMARK", SIOCATMARK)):
        say("  ", name, settled(s, number))


INFO = [  # struct tcp_info of linux/tcp.h
    *((name, "B") for name in "state ca retransmits probes backoff options wscale flags".split()),
    *((name, "I") for name in "rto ato snd_mss rcv_mss unacked sacked lost retrans fackets last_data_sent "
      "last_ack_sent last_data_recv last_ack_recv pmtu rcv_ssthresh rtt rttvar snd_ssthresh snd_cwnd advmss "
      "reordering rcv_rtt rcv_space total_retrans".split()),
    *((name, "Q") for name in "pacing_rate max_pacing_rate bytes_acked bytes_received".split()),
    *((name, "I") for name in "segs_out segs_in notsent_bytes min_rtt data_segs_in data_segs_out".split()),
    *((name, "Q") for name in "delivery_rate busy_time rwnd_limited sndbuf_limited".split()),
    *((name, "I") for name in "delivered delivered_ce".split()),
    *((name, "Q") for name in "bytes_sent bytes_retrans".split()),
    *((name, "I") for name in "dsack_dups reord_seen rcv_ooopack snd_wnd rcv_wnd rehash".split())]
LAYOUT = "=" + "".join(kind for _, kind in INFO)


class Info:
    def __init__(self, s):
        data = s.getsockopt(TCP, socket.TCP_INFO, 1024)
        self.size = len(data)
        values = struct.unpack_from(LAYOUT, data.ljust(struct.calcsize(LAYOUT), b"\0"))
        self.__dict__.update(zip([name for name, _ in INFO], values))

    def these(self, names):
        return [(name, getattr(self, name)) for name in names.split()]


def info(s):
    """Fields of TCP_INFO that are the same in each good run."""
    i = Info(s)
    say("   TCP_INFO", i.size, "options", i.options & 7, *i.these(
        "state retransmits probes backoff wscale snd_mss rcv_mss advmss pmtu unacked sacked lost retrans fackets "
        "snd_ssthresh reordering rcv_rtt rcv_space total_retrans bytes_acked bytes_received notsent_bytes "
        "data_segs_in data_segs_out delivered delivered_ce bytes_sent bytes_retrans dsack_dups reord_seen "
        "rcv_ooopack"))
    say("   plausible", 200000 <= i.rto <= 1000000, 0 < i.min_rtt < 1000000, 0 < i.rtt < 1000000,
        0 < i.rttvar < 1000000, i.snd_cwnd >= 10, i.segs_out > 1, i.segs_in > 1, i.rcv_ssthresh >= 60000,
        60000 < i.snd_wnd < 1 << 22, 60000 < i.rcv_wnd < 1 << 22, 0 < i.pacing_rate < 1 << 50,
        i.max_pacing_rate == (1 << 64) - 1, 0 < i.delivery_rate < 1 << 50, 39000 < i.ato < 201000)
    say("   times", i.last_data_sent < 5000, i.last_data_recv < 5000, i.last_ack_recv < 5000)
    say("   short", len(s.getsockopt(TCP, socket.TCP_INFO, 40)), len(s.getsockopt(TCP, socket.TCP_INFO, 1)))


def info_at_the_end(s, f):
    s.shutdown(socket.SHUT_WR)
    becomes(s, "FIN_WAIT2")
    names = "bytes_acked bytes_received delivered bytes_sent data_segs_out data_segs_in unacked notsent_bytes"
    say("   FIN sent", *Info(s).these(names))
    f.close()
    becomes(s, "CLOSE")
    say("   FIN received", *Info(s).these(names))


say("new")
s = tcp(six=six)
every_option(s, True)
special(s)
say("   state", state(s))
s.close()
for name, s, f in both_ways(own, peer, far, 7000):
    say(name)
    f.send(b"words")
    s.recv(5)
    s.send(b"answers!")
    f.take(8)
    acked(s)
    info(s)
    every_option(s, True)
    special(s)
    s.send(b"x")
    say("   still works", f.recv(1), f.send(b"y"), s.recv(1))
    s.close()
    f.close()
for name, s, f in both_ways(own, peer, far, 7004):
    say(name, "ends")
    f.send(b"words")
    s.recv(5)
    s.send(b"answers!")
    f.take(8)
    acked(s)
    info_at_the_end(s, f)
    s.close()
    f.close()
say("listener")
ls = tcp(own, 7003, 5)
ends = [far.tcp(six=six) for _ in range(3)]
for f in ends:
    f.connect((own, 7003))
settles(ls, "IN")
wait_for(lambda: Info(ls).unacked == 3)
say("   waiting children", Info(ls).these("state unacked sacked snd_cwnd reordering"))
for f in ends:
    f.close()
ls.close()
ls = tcp(own, 7001, 5)
every_option(ls, True)
special(ls)
ls.close()


# The effect of options.
def getsockopt_with(s, level, name, value):
    """getsockopt(2) of an option that reads what is there before."""
    buf = ctypes.create_string_buffer(value, len(value))
    n = ctypes.c_uint(len(value))
    if ctypes.CDLL(None, use_errno=True).getsockopt(s.fileno(), level, name, buf, ctypes.byref(n)) < 0:
        raise OSError(ctypes.get_errno(), "getsockopt")
    return buf.raw[:n.value]


def before(s):
    s.setsockopt(TCP, socket.TCP_MAXSEG, 700)
    s.setsockopt(TCP, socket.TCP_CONGESTION, b"reno")
    s.setsockopt(TCP, socket.TCP_KEEPIDLE, 55)
    s.setsockopt(TCP, socket.TCP_NODELAY, 1)
    s.setsockopt(SOL, socket.SO_RCVBUF, 30000)


s, f = pair(own, peer, far, 7002, before)
say("set before, read after", s.getsockopt(TCP, socket.TCP_MAXSEG), f.getsockopt(TCP, socket.TCP_MAXSEG),
    s.getsockopt(TCP, socket.TCP_CONGESTION, 4), s.getsockopt(TCP, socket.TCP_KEEPIDLE),
    s.getsockopt(TCP, socket.TCP_NODELAY), s.getsockopt(SOL, socket.SO_RCVBUF))
s.close()


# Options that tell about a socket with bytes in its queue; TCP_ZEROCOPY_RECEIVE maps them or says how many to read.
s, f = pair(own, peer, far, 7008)
f.send(b"some bytes")
settles(s, "IN")
zero = struct.pack("QIIIi", 0, 0, 0, 0, 0)
say("zerocopy", struct.unpack("QIIIi", getsockopt_with(s, TCP, 35, zero)),
    attempt(getsockopt_with, s, TCP, 35, struct.pack("QIIIi", 8, 0, 0, 0, 0)),
    attempt(getsockopt_with, s, TCP, 35, zero[:8]))
mem = struct.unpack("9I", s.getsockopt(SOL, 55, 36))
say("SO_MEMINFO", mem[0] > 0, mem[1] == s.getsockopt(SOL, socket.SO_RCVBUF), len(s.getsockopt(SOL, 55, 8)),
    "SO_INCOMING_CPU", s.getsockopt(SOL, 49) >= 0)
s.recv(100)
say("nothing more", struct.unpack("QIIIi", getsockopt_with(s, TCP, 35, zero)))
f.shutdown(socket.SHUT_WR)
settles(s, "RDHUP")
s.recv(1)
say("the end", attempt(getsockopt_with, s, TCP, 35, zero))
s.close()


# Bytes that go to another device do not reach the peer, until the socket is bound to none again. (Whether IPv6 has a
# route by another device the kernel does not tell.)
if not six:
    s, f = pair(own, peer, far, 7002)
    s.send(b"before")
    say("bound to another device", f.take(6), attempt(s.setsockopt, SOL, socket.SO_BINDTODEVICE, b"lo"),
        s.send(b"lost"), time.sleep(0.3), attempt(f.recv, 10, socket.MSG_DONTWAIT),
        attempt(s.setsockopt, SOL, socket.SO_BINDTODEVICE, b""), f.take(4))
    s.close()
    f.close()


# A program may repair its connection itself: TCP_REPAIR, TCP_REPAIR_QUEUE, TCP_QUEUE_SEQ.
s, f = pair(own, peer, far, 7002)
s.send(b"before")
say("not repaired", f.take(6), attempt(s.setsockopt, TCP, 21, 1))
s.close()
s, f = pair(own, peer, far, 7002)
say("repaired", attempt(s.setsockopt, TCP, 19, 1), [attempt(s.setsockopt, TCP, 20, queue) for queue in (1, 2, 3)],
    s.getsockopt(TCP, 21) != 0, attempt(s.setsockopt, TCP, 19, 0), s.send(b"after"), f.take(5))
s.close()
f.close()


# A congestion control with a pace of its own, where the kernel has it.
def congestion(s):
    attempt(s.setsockopt, TCP, socket.TCP_CONGESTION, b"bbr")


for make, port in (pair, 7002), (accepted, 7005):
    s, f = make(own, peer, far, port, congestion)
    say("congestion control", s.getsockopt(TCP, socket.TCP_CONGESTION, 16).split(b"\0")[0], s.send(b"x"), f.recv(1))
    s.close()
    f.close()
s, f = pair(own, peer, far, 7002)
s.setsockopt(TCP, socket.TCP_CORK, 1)
for i in range(10):
    s.send(b"%d" % i)
say("corked", attempt(f.recv, 100, socket.MSG_DONTWAIT))
s.setsockopt(TCP, socket.TCP_CORK, 0)
say("released", f.recv(100))
s.setsockopt(TCP, socket.TCP_CORK, 1)
s.send(b"never uncorked")
say("goes by itself", f.take(14))
s.setsockopt(TCP, 36, 1)  # TCP_INQ
f.send(b"abcdef")
arrived(s, 6)
data, cmsgs, _, _ = s.recvmsg(2, 100)
say("TCP_INQ", data, [(level, kind, struct.unpack("i", d)[0]) for level, kind, d in cmsgs])

def below_zero(level, opt):
    size, value = ctypes.c_int(-1), ctypes.create_string_buffer(16)
    return raw("getsockopt", s.fileno(), level, opt, value, ctypes.byref(size)), size.value


say("a length below zero", [below_zero(*opt) for opt in ((IP6, 26), (IP6, 24), (IP6, 1), (0, 14), (TCP, 1), (SOL, 4), (SOL, 8))])
s.close()
say("done")
