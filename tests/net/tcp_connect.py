# SPDX-License-Identifier: BSD-2-Clause
"""tcp_connect.py OWN PEER FAR SILENT CLOSED: what connect() does for TCP. No host answers at SILENT; a router reports
that CLOSED cannot be reached."""
from tcplib import *

own, peer, far = start()
silent, closed = sys.argv[4], sys.argv[5]
listener = far.tcp(peer, 7000, 50)


def fresh(blocking=True):
    s = tcp(six=is6(peer))
    s.setblocking(blocking)
    return s


def gives_up():
    """A connect() without an answer ends after a time; a thread looks at it meanwhile."""
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM])
    s = fresh()
    s.setsockopt(TCP, socket.TCP_USER_TIMEOUT, 300)
    begun = time.monotonic()
    tired.append((raw_connect(s, silent, 7000), so_error(s), state(s), polled(s),
                  time.monotonic() - begun > 0.25))
    s.close()


tired = []
patience = threading.Thread(target=gives_up)
patience.start()

# Blocking.
s = fresh()
say("connect", raw_connect(s, peer, 7000), s.getsockname()[0], s.getpeername()[:2])
f, name = listener.accept()
say("the same port at both ends:", name[1] == s.getsockname()[1], name[0])
say("hello", s.send(b"hello"), f.recv(100), f.send(b"you"), s.recv(100))
say("again", raw_connect(s, peer, 7000), raw_connect(s, peer, 7001), so_error(s))
s.close()
say("it ended", f.recv(100))
f.close()

# Calls with addresses that are not valid.
s = fresh()
s.connect((peer, 7000))
f, _ = listener.accept()
sa, size = sockaddr(peer, 7000), ctypes.c_int(-1)
say("connected", [raw("connect", s.fileno(), sa, n) for n in (0, 1, 2, 8, 16, 28, 128, 129, -1)])
say("length -1", [raw(call, s.fileno(), bytes(128), ctypes.byref(size)) for call in ("getsockname", "getpeername")])
other = sockaddr("127.0.0.1" if is6(peer) else "::1", 7100)
say("bind", raw("bind", s.fileno(), other, len(other)), raw("bind", s.fileno(), other, 2),
    raw("bind", s.fileno(), bytes(32), 28), attempt(s.bind, (own, 7100)))
s.close()
f.close()

s = tcp(own, 7100)
say("bound before", raw_connect(s, peer, 7000), s.getsockname()[:2], listener.accept()[1][:2])
s2 = fresh()
s2.setsockopt(SOL, socket.SO_REUSEADDR, 1)
s2.setsockopt(SOL, socket.SO_REUSEPORT, 1)
say("its address is taken", attempt(s2.bind, (own, 7100)))
s.close()

# Without waiting.
s = fresh(False)
say("non-blocking", raw_connect(s, peer, 7000))
f, _ = listener.accept()
say("done", settles(s, "OUT"), so_error(s))
say("called again", raw_connect(s, peer, 7000), raw_connect(s, peer, 7000))
say("works", s.send(b"x"), f.recv(10))
s.close()
f.close()

# To a host that does not answer.
s = fresh(False)
say("silence", raw_connect(s, silent, 7000), raw_connect(s, silent, 7000), polled(s), state(s))
say("meanwhile", attempt(s.send, b"x"), attempt(s.recv, 10), attempt(s.getpeername),
    so_error(s), attempt(s.listen), attempt(s.bind, (own, 0)))
say("own name", s.getsockname()[0])
say("shut down", attempt(s.shutdown, socket.SHUT_RDWR), state(s), polled(s))
say("then elsewhere", raw_connect(s, peer, 7000), settles(s, "OUT"))
f, _ = listener.accept()
say("works", s.send(b"x"), f.recv(10))
s.close()
f.close()
s = fresh(False)
say("silence", raw_connect(s, silent, 7000), disconnect(s), state(s), polled(s))
s.close()
s = fresh()
s.setsockopt(SOL, socket.SO_SNDTIMEO, struct.pack("qq", 0, 200000))
say("SO_SNDTIMEO", raw_connect(s, silent, 7000), raw_connect(s, silent, 7000), state(s))
s.close()
s = fresh()
s.setsockopt(SOL, socket.SO_SNDTIMEO, struct.pack("qq", -1, 0))
say("less than nothing", raw_connect(s, silent, 7000), raw_connect(s, silent, 7000), state(s))
s.close()

# A signal.
signal.signal(signal.SIGALRM, lambda *a: None)
s = fresh()
signal.setitimer(signal.ITIMER_REAL, 0.2)
say("interrupted", raw_connect(s, silent, 7000))
s.setblocking(False)
say("goes on", raw_connect(s, silent, 7000), state(s))
s.close()

# A port on which no program listens.
s = fresh()
say("refused", raw_connect(s, peer, 7099), so_error(s), state(s), attempt(s.getpeername))
say("then", raw_connect(s, peer, 7000))
f, _ = listener.accept()
say("works", s.send(b"x"), f.recv(10))
s.close()
f.close()
s = fresh(False)
say("refused later", raw_connect(s, peer, 7099), settles(s, "ERR"), so_error(s), so_error(s), polled(s))
say("then", raw_connect(s, peer, 7099), polled(s))
s.close()
s = fresh(False)
say("by send", raw_connect(s, peer, 7099), settles(s, "ERR"), attempt(s.recv, 1), attempt(s.recv, 1))
s.close()
s = fresh(False)
say("by send", raw_connect(s, peer, 7099), settles(s, "ERR"), attempt(s.send, b"x"),
    attempt(s.send, b"x"))
s.close()

# A router refuses the destination.
s = fresh()
say("unreachable", raw_connect(s, closed, 7000))
s.close()
s = fresh(False)
# (Whether the state is CLOSE then depends in the kernel, too, on a race of the ICMP error with the call.)
say("unreachable later", raw_connect(s, closed, 7000), "ERR" in settles(s, "ERR"), so_error(s))
s.close()

# Dissolved by connect(AF_UNSPEC).
s = fresh()
s.connect((peer, 7000))
f, _ = listener.accept()
say("AF_UNSPEC", disconnect(s), attempt(s.getpeername), state(s), polled(s))
say("the peer", attempt(f.recv, 10))
say("send, recv", attempt(s.send, b"x"), attempt(s.recv, 1))
say("connect", raw_connect(s, peer, 7000))
f, _ = listener.accept()
say("works", s.send(b"x"), f.recv(10), f.send(b"yz"), s.recv(10))
say("unread data", f.send(b"abc"), arrived(s, 3), disconnect(s), attempt(s.recv, 10))
say("again", disconnect(s), disconnect(s))
s.close()
f.close()
s = tcp(own, 7101)
s.connect((peer, 7000))
listener.accept()
say("bound address", disconnect(s), s.getsockname()[:2])
s.close()

# Addresses that connect() cannot use.
s = fresh()
sa = sockaddr(peer, 7000)
say("short", raw("connect", s.fileno(), sa, 3), raw("connect", s.fileno(), sa, 1))
sa = b"\x63\0" + sa[2:]
say("family", raw("connect", s.fileno(), sa, len(sa)))
if not is6(peer):
    say("broadcast", raw_connect(s, "255.255.255.255", 7000))
    say("multicast", raw_connect(s, "224.0.0.1", 7000))
say("nowhere", raw_connect(s, "2001:db8::1" if is6(peer) else "192.0.2.1", 7000))
say("unbound", state(s))
say("still good", raw_connect(s, peer, 7000))
listener.accept()
s.close()
ls = tcp(own, 7102, 5)
say("of a listener", raw_connect(ls, peer, 7000), polled(ls))
ls.close()
say("closed", raw("connect", 999, sa, len(sa)), raw("connect", 0, sockaddr(peer, 7000), len(sa)))

# Loopback, and this host's own address.
for addr in (loopback(6 if is6(peer) else 4), own):
    ls = tcp(addr, 7103, 5)
    s = fresh()
    say("loopback", raw_connect(s, addr, 7103), s.getsockname()[0] == addr)
    f = ls.accept()[0]
    say("works", s.send(b"x"), f.recv(10), f.send(b"yz"), s.recv(10))
    for x in (ls, s, f):
        x.close()
s = fresh()
say("loopback refused", raw_connect(s, own, 7199))
s.close()

# Many at once, one after another.
socks = [fresh(False) for _ in range(40)]
say("begun", {raw_connect(s, peer, 7000) for s in socks})
far_ends = {}
for _ in socks:
    f, name = listener.accept()
    far_ends[name[1]] = f
for i, s in enumerate(socks):
    f = far_ends[s.getsockname()[1]]
    s.setblocking(True)
    assert s.send(b"%d" % i) and f.recv(10) == b"%d" % i
    (s if i % 2 else f).close()
say("forty")
for i in range(60):
    s = fresh()
    s.connect((peer, 7000))
    f, _ = listener.accept()
    f.send(b"%d" % i)
    f.close()
    assert take(s, 10) == b"%d" % i
    s.close()
say("sixty")

if is6(peer):
    # IPv4 through an IPv6 socket.
    own4, peer4 = sys.argv[6], sys.argv[7]
    l4 = far.tcp(peer4, 7001, 5)
    s = fresh()
    say("mapped", raw_connect(s, "::ffff:" + peer4, 7001), s.getpeername()[0] == "::ffff:" + peer4,
        s.getsockname()[0] == "::ffff:" + own4)
    f, name = l4.accept()
    say("works", name[0] == own4, s.send(b"x"), f.recv(10), f.send(b"yz"), s.recv(10))
    # IPV6_ADDRFORM: only a connection takes it, and it becomes an IPv4 socket's.
    say("IPV6_ADDRFORM", attempt(fresh().setsockopt, socket.IPPROTO_IPV6, 1, socket.AF_INET),
        attempt(s.setsockopt, socket.IPPROTO_IPV6, 1, socket.AF_INET),
        s.getsockopt(SOL, socket.SO_DOMAIN) == socket.AF_INET, s.send(b"x"), f.recv(10), f.send(b"yz"), s.recv(10))
    s.close()
    s = fresh()
    s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
    say("IPV6_V6ONLY", raw_connect(s, "::ffff:" + peer4, 7001))
    for at in ("::ffff:0.0.0.0", "::ffff:" + own4, "::"):
        for to in (peer, "::ffff:" + peer4):
            s = fresh()
            s.bind((at, 0))
            s.settimeout(5)
            say("bound to", at.replace(own4, "own"), raw_connect(s, to, 7001 if to != peer else 7000))
            s.close()
patience.join()
say("TCP_USER_TIMEOUT", tired)
say("done")
