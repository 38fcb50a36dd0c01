# SPDX-License-Identifier: BSD-2-Clause
"""Scripts of tcp_segments.py: ICMP errors and redirects, ARP replies and neighbour advertisements that another host
may have forged (RFC 5927)."""
import time

from segscript import *

UNREACHABLE, TOO_BIG, REDIRECT, HEADER, PARTS = "unreachable", "too big", "redirect", "bad header", "parts are missing"
NO_WAY = "no way"  # from a router
RECVERR = {False: (socket.IPPROTO_IP, 11), True: (socket.IPPROTO_IPV6, 25)}
DISCOVER = {False: (socket.IPPROTO_IP, 10), True: (socket.IPPROTO_IPV6, 23)}
FAR = 5000  # beyond or before what is in flight
MSS = {False: 1460, True: 1440}  # of a path of 1,500 bytes
LEAST = {False: 512, True: MSS[True]}  # net.ipv4.route.min_pmtu less 40; IPv6 ignores less than 1,280
OTHER_MAC = bytes.fromhex("02005e100078")


def sum_of(data):
    s = csum_of(data)
    while s >> 16:
        s = (s & 0xFFFF) + (s >> 16)
    return ~s & 0xFFFF


def icmp6(net, body, src, hops=64):
    body = body[:2] + struct.pack("!H", sum_of(src + net.dst + struct.pack("!II", len(body), 58) + body)) + body[4:]
    return net.eth + struct.pack("!IHBB", 6 << 28, len(body), 58, hops) + src + net.dst + body


def about(f, what, seq, mtu=0):
    """The frame of an error about the subject's segment with that relative number."""
    net, own = f.net, f.net.src
    tcp = struct.pack("!HHII", f.dport, f.sport, (f.irs + seq) & MASK, 0) + bytes(8)
    if net.six:
        inner = struct.pack("!IHBB", 6 << 28, 1020, 6, 64) + net.dst + own + tcp
        if what == REDIRECT:
            router = socket.inet_pton(socket.AF_INET6, "fe80::77")
            return icmp6(net, bytes([137, 0]) + bytes(6) + own + own + bytes([2, 1]) + OTHER_MAC, router, 255)
        head = {UNREACHABLE: bytes([1, 4]), TOO_BIG: bytes([2, 0]), HEADER: bytes([4, 0]), NO_WAY: bytes([1, 0])}[what]
        return icmp6(net, head + bytes(2) + struct.pack("!I", mtu) + inner, own)
    ip = struct.pack("!BBHHHBBH", 0x45, 0, 1040, 1, 0x4000, 64, 6, 0) + net.dst + own
    inner = ip[:10] + struct.pack("!H", checksum(ip)) + ip[12:] + tcp
    head = {UNREACHABLE: bytes([3, 3]), TOO_BIG: bytes([3, 4]), REDIRECT: bytes([5, 1]), HEADER: bytes([12, 0]),
            PARTS: bytes([11, 1]), NO_WAY: bytes([3, 1])}[what]
    gateway = own[:3] + bytes([own[3] + 1])
    body = head + bytes(2) + (gateway if what == REDIRECT else struct.pack("!I", mtu)) + inner
    body = body[:2] + struct.pack("!H", sum_of(body)) + body[4:]
    ip = struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(body), 1, 0, 64, 1, 0) + own + net.dst
    return net.eth + ip[:10] + struct.pack("!H", checksum(ip)) + ip[12:] + body


def advertised(net, mac):
    """An ARP reply or an advertisement, overriding, that has the peer's address at another MAC."""
    if net.six:
        return icmp6(net, bytes([136, 0, 0, 0, 0x60, 0, 0, 0]) + net.src + bytes([2, 1]) + mac, net.src, 255)
    arp = struct.pack("!HHBBH", 1, 0x0800, 6, 4, 2) + mac + net.src + net.eth[:6] + net.dst
    return net.eth[:12] + b"\x08\x06" + arp


def in_flight(t):
    """A connection with one segment of the subject's that is not acknowledged."""
    mss = MSS[t.net.six]
    f, s = t.open(f"mss {mss},sackOK,wscale 7")
    s.send(payload(1, mss))
    f.until(f". 1:{1 + mss}({mss})")
    return f, s, mss


def goes_on(f, s, at, mss):
    """The subject still sends segments of that size, and is not told of an error."""
    f.put(f". 1:1(0) ack {at}")
    f.skip(0.05)
    expect("error", s.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR), 0)
    s.send(payload(at, 2 * mss))
    f.until(f". {at}:{at + mss}({mss})")
    f.put(f". 1:1(0) ack {at + 2 * mss}")
    f.put(f"P. 1:11(10) ack {at + 2 * mss}")
    gives(s, 10)
    expect("state", s.state(), "ESTABLISHED")


def icmp_of_another(t):
    """RFC 5927 4.1: errors about a number that is not in flight are dropped."""
    f, s, mss = in_flight(t)
    for what, mtu in (UNREACHABLE, 0), (TOO_BIG, 1300):
        for seq in (1 + mss + FAR, 1 - FAR):
            t.net.send(about(f, what, seq, mtu))
    goes_on(f, s, 1 + mss, mss)


def icmp_hard(t):
    """RFC 5927 5.2: an error about a segment in flight does not end a connection that is open."""
    f, s, mss = in_flight(t)
    t.net.send(about(f, UNREACHABLE, 1))
    f.skip(0.05)
    expect("state", s.state(), "ESTABLISHED")
    expect("error", s.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR), errno.ECONNREFUSED)
    goes_on(f, s, 1 + mss, mss)


def error_of(s):
    return s.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)


def icmp_header(t):
    """A report of a bad header is an error in flight as others are."""
    f, s, mss = in_flight(t)
    t.net.send(about(f, HEADER, 1))
    f.skip(0.05)
    expect("error", error_of(s), errno.EPROTO)
    goes_on(f, s, 1 + mss, mss)


def icmp_parts(t):
    """The kernel tells nobody that a router could not put IPv4 fragments together."""
    f, s, mss = in_flight(t)
    if not t.net.six:
        t.net.send(about(f, PARTS, 1))
    f.skip(0.05)
    expect("error", error_of(s), 0)
    goes_on(f, s, 1 + mss, mss)


def untold(t, f, s):
    t.net.send(about(f, UNREACHABLE, 1))
    f.skip(0.05)
    expect("events", ("ERR" in s.polled(), error_of(s)), (False, errno.ECONNREFUSED))


def icmp_told(t):
    """With IP_RECVERR a call returns the error at once, one call alone, and the connection goes on."""
    f, s, mss = in_flight(t)
    if t.net.six:
        s.setsockopt(*RECVERR[False], 1)  # which is about IPv4
    untold(t, f, s)
    s.setsockopt(*RECVERR[t.net.six], 1)
    for call in lambda: s.recv(10), lambda: s.send(b"x"), lambda: error_of(s):
        t.net.send(about(f, UNREACHABLE, 1 + mss + FAR))  # not in flight
        t.net.send(about(f, UNREACHABLE, 1))
        f.skip(0.05)
        expect("events", "ERR" in s.polled(), True)
        try:
            got = call()
        except OSError as e:
            got = e.errno
        expect("the call", got, errno.ECONNREFUSED)
        expect("events", ("ERR" in s.polled(), error_of(s)), (False, 0))
    s.setsockopt(*RECVERR[t.net.six], 0)
    untold(t, f, s)
    goes_on(f, s, 1 + mss, mss)


def queued(s, f):
    """The message of the error queue: its bytes, its name, flags, and the error with its offender."""
    try:
        data, control, flags, name = s.recvmsg(600, 512, socket.MSG_ERRQUEUE)
    except OSError as e:
        return [errno.errorcode[e.errno]]
    ports = data[:4] == struct.pack("!HH", f.dport, f.sport) and struct.unpack_from("!I", data, 4)[0] == f.irs
    for level, kind, body in control:
        say(level, kind, struct.unpack_from("=IBBBBII", body), body[16:18], len(body), f.net.src in body[16:])
    return [len(data), ports, name[1] == f.sport, name[0] == f.net.addr, flags]


def icmp_connecting(t):
    """An error that ends an attempt to connect is in the error queue, with what the router has sent back, of IPv4
    whether IP_RECVERR is set or not."""
    for on in 0, 1:
        for what in UNREACHABLE, HEADER:
            for blocking in True, False:
                f, s, connected = t.dial(lambda s: (s.setsockopt(*RECVERR[t.net.six], on), s.setblocking(blocking)))
                early = None if blocking else attempt(connected)
                f.take()
                t.net.send(about(f, what, 0))
                f.skip(0.05)
                say(on, what, early, attempt(connected) if blocking else s.polled())
                say(s.polled(), *queued(s, f), s.polled(), attempt(s.recv, 1), s.polled(), *queued(s, f))
                t.port += 1


def icmp_no_way(t):
    """RFC 6069: while routers say that they have no way to the peer, time-outs do not grow."""
    f, s, mss = in_flight(t)
    f.until(f". 1:{1 + mss}({mss})")  # the probe, or the first time-out
    start = time.monotonic()
    for _ in range(4):
        t.net.send(about(f, NO_WAY, 1))
        f.until(f". 1:{1 + mss}({mss})")
    say(time.monotonic() - start < 2.5)  # (they would take 200 or 400, 800, 1,600 ms, and twice that)
    expect("error", error_of(s), errno.ENETUNREACH if t.net.six else errno.EHOSTUNREACH)
    goes_on(f, s, 1 + mss, mss)


def redirected(t):
    """A redirect from no router, about a peer that is on the link, changes nothing."""
    f, s, mss = in_flight(t)
    t.net.send(about(f, REDIRECT, 1))
    goes_on(f, s, 1 + mss, mss)
    s.send(payload(1, 10))
    expect("MAC", f.take().to, t.net.eth[6:12])


def advertised_elsewhere(t):
    """A permanent neighbour keeps its MAC, whatever ARP replies and advertisements say."""
    f, s, mss = in_flight(t)
    t.net.send(advertised(t.net, OTHER_MAC))
    goes_on(f, s, 1 + mss, mss)
    s.send(payload(1, 10))
    expect("MAC", f.take().to, t.net.eth[6:12])


def advertised_learned(t):
    """A neighbour that was learned moves to the MAC that it advertises (the kernel keeps what it learned less than
    `locktime` ago), and moves back; a redirect changes nothing."""
    f, s, mss = in_flight(t)
    t.net.send(about(f, REDIRECT, 1))
    goes_on(f, s, 1 + mss, mss)
    at = 1 + 3 * mss
    for mac in OTHER_MAC, t.net.eth[6:12]:
        t.net.send(advertised(t.net, mac))
        f.skip(0.1)
        s.send(payload(at, 10))
        expect("MAC", f.take().to, mac)
        at += 10
        f.put(f". 11:11(0) ack {at}")


def icmp_small_mtu(t):
    """A path MTU below the least is not believed: IPv4 takes the least, IPv6 drops the report. (The kernel keeps it, so
    this script is the last.)"""
    f, s, mss = in_flight(t)
    t.net.send(about(f, TOO_BIG, 1, 68))
    least = LEAST[t.net.six]
    f.skip(0.05)
    f.put(f". 1:1(0) ack {1 + mss}")
    f.skip(0.05)
    s.send(payload(1 + mss, 2 * mss))
    f.until(f". {1 + mss}:{1 + mss + least}({least})")


def told_of(t, mtu, discover=None):
    """The size of the segments that follow a report of that MTU, in flight."""
    f, s, mss = in_flight(t)
    if discover is not None:
        s.setsockopt(*DISCOVER[t.net.six], discover)
    t.net.send(about(f, TOO_BIG, 1, mtu))
    f.skip(0.05)
    f.put(f". 1:1(0) ack {1 + mss}")
    f.skip(0.05)
    s.send(payload(1 + mss, 2 * mss))
    return len(f.take().data)


def mtu_deaf(t):
    """By net.ipv4.ip_no_pmtu_disc 2 no report is believed, nor are those of IPv6 by a socket with IPV6_PMTUDISC_INTERFACE
    or OMIT. The caller has set the first."""
    for discover in 4, 5:
        expect("size", told_of(t, 1300, discover if t.net.six else 2), MSS[t.net.six])


def mtu_floor(t):
    """net.ipv4.route.min_pmtu, which the caller has set to 1,000: a report of less is taken for it."""
    if not t.net.six:
        expect("size", told_of(t, 600), 960)


SCRIPTS = [icmp_of_another, icmp_hard, icmp_header, icmp_parts, icmp_told, icmp_connecting, icmp_no_way, redirected, advertised_elsewhere,
           icmp_small_mtu]
LEARNED = [advertised_learned]  # with a neighbour that is not permanent
SET = [mtu_deaf, mtu_floor]  # with settings of the host (hostile_mtu.sh)
