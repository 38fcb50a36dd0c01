# SPDX-License-Identifier: BSD-2-Clause
# A user claims packets that the kernel would give to the sockets of another user.
# Usage: hostile.py SOCKET DEVICE NETNS-OF-PEER OWN4 OWN6 PEER4 PEER6
#
# One process plays both users: a socket belongs to the effective user of the moment. The oracle is
# the kernel: each part sends from the peer before any claim, notes what the victim's socket gets,
# and wants the same after the claim, or, where the victim comes after the claim, within WAIT
# seconds. Prints "ok" or "FAILED" for each; 0 when none failed.
import ctypes, os, resource, select, socket, struct, sys, time

import leaselib
from leaselib import dial, flow_key, mapped, message, receive, send

PASS = 4
ATTACKER, VICTIM = 1001, 1002
WAIT = 20
path, device, peer_ns = sys.argv[1:4]
OWN = {4: sys.argv[4], 6: sys.argv[5]}
PEER = {4: sys.argv[6], 6: sys.argv[7]}
AF = {4: socket.AF_INET, 6: socket.AF_INET6}
ANY = {4: "0.0.0.0", 6: "::"}
GROUP = {4: "239.9.9.9", 6: "ff15::9"}
PROTO = {socket.SOCK_DGRAM: socket.IPPROTO_UDP, socket.SOCK_STREAM: socket.IPPROTO_TCP}
ifindex = socket.if_nametoindex(device)
failed = 0
libc = ctypes.CDLL(None, use_errno=True)


def check(what, good, more=""):
    global failed
    failed += not good
    print("ok:" if good else "FAILED:", what, more, flush=True)


class As:
    """Sockets made inside belong to that user."""

    def __init__(self, uid):
        self.uid = uid

    def __enter__(self):
        os.seteuid(self.uid)

    def __exit__(self, *_):
        os.seteuid(0)


def on_peer(make):
    """Runs make() in the peer's namespace: its socket stays there."""
    here, there = os.open("/proc/self/ns/net", os.O_RDONLY), os.open(peer_ns, os.O_RDONLY)
    assert libc.setns(there, 0) == 0
    try:
        return make()
    finally:
        assert libc.setns(here, 0) == 0
        os.close(here)
        os.close(there)


class Session:
    def __init__(self):
        with As(ATTACKER):
            self.s = dial(path, WAIT)
            self.keep, self.given, self.why = [], [], ""
            ns = os.open("/proc/self/ns/net", os.O_RDONLY)
            self.must("HELLO", bytes(48), [ns])
            os.close(ns)
        self.must("UMEM")
        self.must("PORT_OPEN", struct.pack("=II", ifindex, 0))
        self.lane = struct.unpack_from("=I", self.must("LANE_OPEN", struct.pack("=II", ifindex, 0)))[0]

    def ask(self, op, body=b"", fds=()):
        send(self.s, message(op, body), fds)
        err, answer, got = receive(self.s)
        self.keep += got  # the XSK keeps the lane
        assert err != "hung up"
        self.why = answer.split(b"\0")[0].decode() if err else ""
        return err if err else answer

    def must(self, *args):
        ret = self.ask(*args)
        assert isinstance(ret, bytes), os.strerror(-ret)
        return ret

    def body(self, s, local, remote=None, flags=0):
        return leaselib.claim(ifindex, flow_key(PROTO[s.type], local, remote), self.lane, flags=flags)

    def claim(self, s, local, remote=None, flags=0):
        """True: the daemon granted the claim."""
        body = self.body(s, local, remote, flags)
        self.given.append(body)
        return isinstance(self.ask("CLAIM", body, [s.fileno()]), bytes)

    def close(self):
        """Gives all claims up; the lease stays."""
        for body in self.given:
            self.ask("UNCLAIM", body)
        self.given = []


def make(uid, kind, addr, port, reuse=True, group=None, peer=None, dev=None, v6only=True, opts=()):
    with As(uid):
        s = socket.socket(AF[6 if ":" in addr else 4], kind)
    if reuse:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if s.family == socket.AF_INET6:
        s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, v6only)
    for level, opt, value in opts:
        s.setsockopt(level, opt, value)
    if dev:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, dev.encode())
    end = time.monotonic() + 2
    while True:
        try:
            s.bind((addr, port))
            break
        except OSError:  # (the daemon still counts a closed one for a moment)
            if (reuse and kind == socket.SOCK_DGRAM) or time.monotonic() > end:
                raise
            time.sleep(0.01)
    if group and ":" in group:
        s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_JOIN_GROUP, mapped(group) + struct.pack("=I", ifindex))
    elif group:
        s.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, socket.inet_aton(group) + bytes(4) + struct.pack("=I", ifindex))
    if peer:
        s.connect(peer)
    s.setblocking(False)
    return s


def udp(uid, addr, port, **kw):
    return make(uid, socket.SOCK_DGRAM, addr, port, **kw)


def tcp(uid, addr, port, listen=False, **kw):
    s = make(uid, socket.SOCK_STREAM, addr, port, **kw)
    if listen:
        s.listen(16)
    return s


def drain(s):
    n = 0
    while True:
        try:
            s.recv(2048)
            n += 1
        except BlockingIOError:
            return n


class Peer:
    """The other host: a UDP socket there of each family."""

    def __init__(self, port):
        def open_both():
            for fam in 4, 6:
                s = socket.socket(AF[fam], socket.SOCK_DGRAM)
                s.bind((PEER[fam], port))
                s.settimeout(WAIT)
                if fam == 4:
                    s.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton(PEER[4]))
                else:
                    s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_IF, socket.if_nametoindex(device_there))
                self.s[fam] = s
        device_there = on_peer(lambda: [n for _, n in socket.if_nameindex() if n != "lo"][0])
        self.s = {}
        self.port = port
        on_peer(open_both)

    def gets(self, s, fam, to, port, wait=0.3):
        """Sends three datagrams; returns how many the socket gets."""
        drain(s)
        for _ in range(3):
            self.s[fam].sendto(b"probe", (to, port))
        got, end = 0, time.monotonic() + wait
        waits = select.poll()
        waits.register(s, select.POLLIN)
        while got < 3 and time.monotonic() < end:
            waits.poll(50)
            got += drain(s)
        return got


def until(fn, seconds=WAIT):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if fn():
            return True
        time.sleep(0.1)
    return False


def connects(fam, port, wait=1.0):
    """True: a connection from the peer is established, whichever socket accepts it."""
    def go():
        s = socket.socket(AF[fam], socket.SOCK_STREAM)
        s.settimeout(wait)
        try:
            s.connect((OWN[fam], port))
            return s
        except OSError:
            s.close()
            return None
    return on_peer(go)


peer = Peer(9999)
session = Session()
next_port = 20000


def fresh():
    global next_port
    next_port += 1
    return next_port


def udp_part(what, fam, theirs, mine, key, after=True):
    """theirs(port), mine(port) make sockets of the victim and the attacker; key(port): claims."""
    to = GROUP[fam] if "group" in what else OWN[fam]
    what = f"UDP over IPv{fam}: {what}"
    by_kernel = None
    for first in "attacker", "victim":
        port, s = fresh(), session
        try:
            m = mine(port) if first == "attacker" else None
            v = theirs(port)
            m = m or mine(port)
        except OSError as e:
            check(f"{what}, {first} first", True, f"(the kernel: {e.strerror})")
            continue
        want = peer.gets(v, fam, to, port)
        by_kernel = want if by_kernel is None else by_kernel
        given = [s.claim(m, *k) for k in key(port)]
        got = peer.gets(v, fam, to, port)
        check(f"{what}, {first} first", got == want, f"(of 3 the kernel gives {want}, now {got}, claims {given})")
        for x in m, v, s:
            x.close()
    if not after or not by_kernel:
        return
    port, s = fresh(), session
    m = mine(port)
    given = [s.claim(m, *k) for k in key(port)]
    try:
        v = theirs(port)
    except OSError as e:
        check(f"{what}, the claim first", True, f"(the kernel: {e.strerror})")
        return
    same = until(lambda: peer.gets(v, fam, to, port) == by_kernel)
    check(f"{what}, the claim first", same, f"(claims {given})")
    for x in m, v, s:
        x.close()


def control():
    """A claim of packets that no other user's socket would get is granted, and the kernel gets no such packet any
    more."""
    for fam in 4, 6:
        port, s = fresh(), session
        m = udp(ATTACKER, OWN[fam], port)
        before = peer.gets(m, fam, OWN[fam], port)
        given = s.claim(m, (OWN[fam], port))
        check(f"a claim that harms nobody is given (IPv{fam})", given and before == 3 and peer.gets(m, fam, OWN[fam], port) == 0, s.why)
        time.sleep(1)
        check("and stays", peer.gets(m, fam, OWN[fam], port) == 0)
        check("until it is given up", s.close() is None and peer.gets(m, fam, OWN[fam], port) == 3)
        s.claim(m, (OWN[fam], port))
        m.close()
        v = udp(VICTIM, OWN[fam], port, reuse=False)
        check("or its socket is closed: the next user of the port gets all", until(lambda: peer.gets(v, fam, OWN[fam], port) == 3))
        v.close()
        s.close()
    s, port = session, fresh()
    m, c = udp(ATTACKER, ANY[4], port), udp(VICTIM, "127.0.0.1", port)
    check("a socket of another user on loopback is in nobody's way", s.claim(m, (ANY[4], port)))
    port = fresh()
    m, c = tcp(ATTACKER, OWN[4], port, listen=True), tcp(ATTACKER, OWN[6], port, listen=True)
    check("a listener's claim is given", s.claim(m, (OWN[4], port)))
    m = tcp(ATTACKER, OWN[4], fresh())
    check("a connection's, too", s.claim(m, m.getsockname(), (PEER[4], 80)))
    s.close()


def udp_parts():
    for fam in 4, 6:
        own, any_ = OWN[fam], ANY[fam]
        udp_part("the same address", fam, lambda p: udp(VICTIM, own, p), lambda p: udp(ATTACKER, own, p), lambda p: [((own, p),)])
        udp_part("the same wildcard", fam, lambda p: udp(VICTIM, any_, p), lambda p: udp(ATTACKER, any_, p), lambda p: [((any_, p),), ((own, p),)])
        udp_part("a wildcard, and the victim's address", fam, lambda p: udp(VICTIM, own, p), lambda p: udp(ATTACKER, any_, p), lambda p: [((any_, p),), ((own, p),)])
        udp_part("an address, and the victim's connected socket", fam, lambda p: udp(VICTIM, own, p, peer=(PEER[fam], 9999)),
                 lambda p: udp(ATTACKER, own, p), lambda p: [((own, p),)])
        udp_part("the flow of the victim's connected socket", fam, lambda p: udp(VICTIM, own, p, peer=(PEER[fam], 9999)),
                 lambda p: udp(ATTACKER, own, p), lambda p: [((own, p), (PEER[fam], 9999))], after=False)
        udp_part("a flow to the victim's address", fam, lambda p: udp(VICTIM, own, p), lambda p: udp(ATTACKER, any_, p),
                 lambda p: [((own, p), (PEER[fam], 9999))], after=False)
        udp_part("a device", fam, lambda p: udp(VICTIM, any_, p, dev=device), lambda p: udp(ATTACKER, any_, p), lambda p: [((any_, p),), ((own, p),)])
        udp_part("the loopback device", fam, lambda p: udp(VICTIM, any_, p), lambda p: udp(ATTACKER, any_, p, dev="lo"), lambda p: [((any_, p),), ((own, p),)])
        g = GROUP[fam]
        udp_part("a group", fam, lambda p: udp(VICTIM, g, p, group=g), lambda p: udp(ATTACKER, g, p, group=g), lambda p: [((g, p),)])
        udp_part("a group, by wildcards", fam, lambda p: udp(VICTIM, any_, p, group=g), lambda p: udp(ATTACKER, any_, p, group=g), lambda p: [((g, p),)])
        udp_part("a group that the attacker is not in", fam, lambda p: udp(VICTIM, any_, p, group=g), lambda p: udp(ATTACKER, any_, p), lambda p: [((g, p),)])
    # In a group of SO_REUSEPORT are sockets of one user; root's is none of the attacker's.
    late_port = lambda s: s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1) or s
    udp_part("root's, and SO_REUSEPORT after bind()", 4, lambda p: udp(0, OWN[4], p), lambda p: late_port(udp(ATTACKER, ANY[4], p)),
             lambda p: [((ANY[4], p),), ((OWN[4], p),), ((OWN[4], p), (PEER[4], 9999))])
    dual = lambda uid: lambda p: udp(uid, "::", p, v6only=False)
    for fam in 4, 6:
        udp_part("a wildcard of both families", fam, dual(VICTIM), dual(ATTACKER), lambda p: [(("::", p),), (("0.0.0.0", p),)])
    udp_part("IPv4, and the victim's wildcard of both families", 4, dual(VICTIM), lambda p: udp(ATTACKER, ANY[4], p), lambda p: [((ANY[4], p),)])
    udp_part("a wildcard of both families, and the victim's of IPv4", 4, lambda p: udp(VICTIM, ANY[4], p), dual(ATTACKER), lambda p: [((ANY[4], p),)])
    s, port = session, fresh()
    m = udp(ATTACKER, "198.51.100.7", port, opts=[(socket.IPPROTO_IP, 15, 1)])  # IP_FREEBIND
    check("an address of another host is refused", not s.claim(m, ("198.51.100.7", port)))
    m = udp(ATTACKER, ANY[4], port)
    check("also by a wildcard", not s.claim(m, ("198.51.100.7", port)))
    check("as is a group that the socket has not joined", not s.claim(m := udp(ATTACKER, ANY[4], fresh()), ("239.1.2.3", m.getsockname()[1])))
    m = udp(ATTACKER, OWN[4], fresh(), peer=(PEER[4], 9999))
    check("as is the endpoint of a socket with a peer", not s.claim(m, m.getsockname()))
    s.close()


def tcp_parts():
    for fam in 4, 6:
        own, any_, name = OWN[fam], ANY[fam], f"TCP over IPv{fam}:"
        for theirs, mine in (own, own), (any_, any_), (own, any_), (any_, own):
            s, port = session, fresh()
            m = tcp(ATTACKER, mine, port)
            v = tcp(VICTIM if fam == 4 else 0, theirs, port, listen=True)
            m.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
            given = s.claim(m, (mine, port))
            c = connects(fam, port)
            check(f"{name} bound to {mine}, the victim listens on {theirs}", c, f"(claim {given})")
            if c:
                c.close()
            # Claims for each flow by which a peer could connect.
            given = [s.claim(m, (own, port), (PEER[fam], p)) for p in (9999, 9998)]
            check(f"{name} flows to the victim's listener are refused", not any(given))
            for x in m, v, s:
                x.close()

        # The attacker closes the listener that the claim was for; then the victim listens there.
        s, port = session, fresh()
        m = tcp(ATTACKER, any_, port, listen=True)
        given = s.claim(m, (any_, port))
        m.close()
        v = tcp(VICTIM, own, port, listen=True)
        check(f"{name} a claim ends with its listener", until(lambda: connects(fam, port, 0.5)), f"(claim {given})")
        for x in v, s:
            x.close()

        # Only bound, before the victim listens.
        s, port = session, fresh()
        m = tcp(ATTACKER, any_, port)
        given = s.claim(m, (any_, port))
        v = tcp(VICTIM, own, port, listen=True)
        check(f"{name} a claim without listen() is the victim's", until(lambda: connects(fam, port, 0.5)), f"(claim {given})")
        for x in m, v, s:
            x.close()

        # A connection that the kernel has, of a listener that is closed.
        s, port = session, fresh()
        v = tcp(VICTIM, own, port, listen=True)
        c = connects(fam, port)
        with As(VICTIM):
            v.setblocking(True)
            conn = v.accept()[0]
        v.close()
        m = tcp(ATTACKER, own, port, listen=True)
        given = s.claim(m, (own, port)), s.claim(m, (own, port), c.getsockname()[:2])
        conn.settimeout(2)
        c.sendall(b"still there?")
        try:
            got = conn.recv(100)
        except TimeoutError:
            got = b""
        check(f"{name} a connection of the kernel goes on", got == b"still there?", f"(claims {given})")
        # A flow that is let pass cannot become one that is steered.
        s.ask("CLAIM", s.body(m, (own, port), c.getsockname()[:2], PASS), [m.fileno()])
        ret = s.ask("CLAIM_UPDATE", s.body(m, (own, port), c.getsockname()[:2]))
        check(f"{name} nor is one that passes turned", not isinstance(ret, bytes))
        for x in m, c, conn, s:
            x.close()


def many_flows():
    """With thousands of flows of one port a look at the kernel's sockets takes as long as otherwise: the next user of a
    port does not wait for its packets."""
    resource.setrlimit(resource.RLIMIT_NOFILE, [min(resource.getrlimit(resource.RLIMIT_NOFILE)[1], 8192)] * 2)
    s, port = session, fresh()
    ends = [(PEER[4], 10000 + i) for i in range(4000)]
    mine = [udp(ATTACKER, OWN[4], port, peer=e) for e in ends]
    given = sum(s.claim(m, (OWN[4], port), e) for m, e in zip(mine, ends))
    time.sleep(1)  # the first look
    port = fresh()
    m = udp(ATTACKER, OWN[4], port, reuse=False)
    s.claim(m, (OWN[4], port))
    m.close()
    v = udp(VICTIM, OWN[4], port, reuse=False)
    start = time.monotonic()
    got = until(lambda: peer.gets(v, 4, OWN[4], port) == 3, 30)
    took = time.monotonic() - start
    check("beside thousands of flows a port is soon the next user's", got and took < 5, f"({given} flows, {took:.1f} s)")
    for x in [v, s] + mine:
        x.close()


def below_1024():
    """Ports that the kernel keeps from users are kept from their claims, until the administrator gives them
    (ip_unprivileged_port_start); and they are the next owner's when the user has closed the socket."""
    def from_port(n):
        with open("/proc/sys/net/ipv4/ip_unprivileged_port_start", "w") as f:
            f.write(str(n))

    def bind(kind, fam, port):
        with As(ATTACKER):
            m = socket.socket(AF[fam], kind)
            m.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                m.bind((OWN[fam], port))
                if kind == socket.SOCK_STREAM:
                    m.listen(5)
                return m
            except PermissionError:
                m.close()

    for fam, (kind, port) in [(f, k) for f in (4, 6) for k in ((socket.SOCK_DGRAM, 53), (socket.SOCK_STREAM, 80))]:
        own, s, name = OWN[fam], session, f"port {port} over IPv{fam}:"
        from_port(1024)
        check(f"{name} the user may not bind it", bind(kind, fam, port) is None)
        m = make(ATTACKER, kind, ANY[fam], fresh())
        given = [s.claim(m, (a, port), r) for a in (own, ANY[fam]) for r in (None, (PEER[fam], 9999))]
        check(f"{name} nor claim it by another", not any(given))
        from_port(53)
        m2 = bind(kind, fam, port)
        given = s.claim(m2, (own, port))
        check(f"{name} both are given when the administrator does", given, s.why)
        from_port(1024)
        m2.close()
        v = make(0, kind, own, port, reuse=kind == socket.SOCK_STREAM)
        if kind == socket.SOCK_DGRAM:
            got = until(lambda: peer.gets(v, fam, own, port) == 3)
        else:
            v.listen(16)
            got = until(lambda: connects(fam, port, 0.5))
        check(f"{name} the next owner has its packets", got)
        for x in m, v, s:
            x.close()


if __name__ == "__main__":
    many_flows()
    control()
    below_1024()
    udp_parts()
    tcp_parts()
    sys.exit(failed != 0)
