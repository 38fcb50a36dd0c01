# SPDX-License-Identifier: BSD-2-Clause
"""tcp_accept.py OWN PEER FAR [OWN4 PEER4]: what listen() and accept() do."""
from tcplib import *

own, peer, far = start()
six = is6(own)


def far_connects(addr=own, port=7000, blocking=True):
    if not blocking:
        return far.begin_connect(addr, port)
    f = far.tcp(six=is6(addr))
    f.connect((addr, port))
    return f


def raw_accept(ls, flags=None):
    """accept or accept4: a socket or an error's name."""
    fd = raw("accept", ls.fileno(), None, None) if flags is None else \
        raw("accept4", ls.fileno(), None, None, flags)
    return fd if isinstance(fd, str) else socket.socket(fileno=fd)


def wait_in(ls):
    return settles(ls, "IN")


# A queue that is full, and has room again (at the end, since it takes a SYN's second try).
full = tcp(own, 7004, 1)
waiting = [far_connects(port=7004, blocking=False) for _ in range(1)]
say("first", waiting[0].settles("OUT"))
waiting.append(far_connects(port=7004, blocking=False))
say("second", waiting[1].settles("OUT"))
time.sleep(0.05)
waiting.append(far_connects(port=7004, blocking=False))

# A server and a client in the usual order.
ls = tcp(own, 7000, 5)
say("listener", ls.getsockname()[:2], state(ls), polled(ls), attempt(ls.getpeername),
    ls.getsockopt(SOL, socket.SO_ACCEPTCONN))
f = far_connects()
say("one waits", wait_in(ls))
s, name = ls.accept()
say("accepted", name[0], name[1] == f.getsockname()[1], s.getsockname()[:2], s.getpeername() == name)
say("works", s.send(b"x"), f.recv(10), f.send(b"yz"), s.recv(10), state(s), polled(ls))
say("of the connection", s.getsockopt(SOL, socket.SO_ACCEPTCONN), so_error(s))
say("recv, send of a listener", attempt(ls.recv, 1), attempt(ls.send, b"x"))
for x in s, f:
    x.close()

# Flags.
for flags in (None, 0, socket.SOCK_NONBLOCK, socket.SOCK_CLOEXEC,
              socket.SOCK_NONBLOCK | socket.SOCK_CLOEXEC, 0x123):
    f = far_connects()
    wait_in(ls)
    s = raw_accept(ls, flags)
    if isinstance(s, str):
        say("accept4", s)
        raw_accept(ls).close()
        continue
    say("flags", fcntl.fcntl(s, fcntl.F_GETFD), bool(fcntl.fcntl(s, fcntl.F_GETFL) & os.O_NONBLOCK))
    s.close()

# accept() when no peer has connected.
ls.setblocking(False)
say("nobody", raw_accept(ls), raw_accept(ls, socket.SOCK_NONBLOCK))
f = far_connects()
wait_in(ls)
s = raw_accept(ls)
say("not inherited", bool(fcntl.fcntl(s, fcntl.F_GETFL) & os.O_NONBLOCK))
s.close()
ls.setblocking(True)
ls.setsockopt(SOL, socket.SO_RCVTIMEO, struct.pack("qq", 0, 100000))
say("SO_RCVTIMEO", raw_accept(ls))
ls.setsockopt(SOL, socket.SO_RCVTIMEO, struct.pack("qq", -1, 0))
say("less than nothing", raw_accept(ls))
f = far_connects()
wait_in(ls)
s = raw_accept(ls)
say("inherited", raw("recv", s.fileno(), ctypes.create_string_buffer(1), 1, 0))
s.close()
signal.signal(signal.SIGALRM, lambda *a: None)
ls.setsockopt(SOL, socket.SO_RCVTIMEO, struct.pack("qq", 0, 0))
signal.setitimer(signal.ITIMER_REAL, 0.2)
say("signal", raw_accept(ls))
say("no listener", raw_accept(tcp(own, 7001)), raw("accept", 999, None, None), raw("accept", 0, None, None))
ls.close()

# Options that a connection inherits from its listener.
ls = tcp(own, 7002)
wanted = [(SOL, socket.SO_KEEPALIVE, 1), (SOL, socket.SO_RCVBUF, 70000), (SOL, socket.SO_SNDBUF, 80000),
          (SOL, socket.SO_OOBINLINE, 1), (SOL, socket.SO_RCVLOWAT, 7), (SOL, socket.SO_PRIORITY, 3),
          (TCP, socket.TCP_NODELAY, 1), (TCP, socket.TCP_KEEPIDLE, 77), (TCP, socket.TCP_KEEPINTVL, 7),
          (TCP, socket.TCP_KEEPCNT, 4), (TCP, socket.TCP_USER_TIMEOUT, 12345),
          (TCP, socket.TCP_LINGER2, 5), (TCP, socket.TCP_NOTSENT_LOWAT, 9999),
          (socket.IPPROTO_IPV6, socket.IPV6_TCLASS, 0x10) if six else (socket.IPPROTO_IP, socket.IP_TOS, 0x10),
          (socket.IPPROTO_IPV6, socket.IPV6_UNICAST_HOPS, 33) if six else
          (socket.IPPROTO_IP, socket.IP_TTL, 33)]
for level, option, value in wanted:
    ls.setsockopt(level, option, value)
ls.setsockopt(TCP, socket.TCP_CONGESTION, b"reno")
linger(ls, 1, 3)
ls.listen(5)
f = far_connects(port=7002)
s, _ = ls.accept()
say("inherits", *[s.getsockopt(level, option) for level, option, _ in wanted])
say("inherits", s.getsockopt(TCP, socket.TCP_CONGESTION, 16).rstrip(b"\0"),
    struct.unpack("ii", s.getsockopt(SOL, socket.SO_LINGER, 8)), s.getsockopt(SOL, socket.SO_REUSEADDR))
f.send(b"12345678")
say("works", s.recv(10))
for x in s, f, ls:
    x.close()

# Connections that ended before they were accepted.
ls = tcp(own, 7003, 5)
f = far_connects(port=7003)
f.send(b"and gone")
f.close()
wait_in(ls)
s, _ = ls.accept()
say("gone", to_end(s))
s.close()
f = far_connects(port=7003)
f.close_reset()
wait_in(ls)
time.sleep(0.05)
ls.setblocking(False)
s = raw_accept(ls)
say("reset", s if isinstance(s, str) else (attempt(s.recv, 10), attempt(s.recv, 10)))
ls.setblocking(True)
f = far_connects(port=7003)
wait_in(ls)
ls.close()
say("never accepted", attempt(f.recv, 10))

# A listener on any address accepts from the peer and from this host.
ls = tcp("::" if six else "0.0.0.0", 7005, 50)
lo = loopback(6 if six else 4)
local = [tcp(six=six) for _ in range(6)]
for i, s in enumerate(local):
    s.connect((lo if i % 2 else own, 7005))
remote = [far_connects(port=7005) for _ in range(6)]
got = {}
for _ in range(12):
    s, name = ls.accept()
    got[name[:2]] = s
say("addresses", sorted((name[0], s.getsockname()[:2]) for name, s in got.items()))
for i, x in enumerate(local + remote):
    s = got[x.getsockname()[:2]]
    assert s.send(b"%d" % i) and x.recv(10) == b"%d" % i
    assert x.send(b"%d" % -i) and s.recv(10) == b"%d" % -i
say("twelve")
for x in list(got.values()) + local + remote + [ls]:
    x.close()

# A second listener.
ls = tcp(own, 7006, 5)
s = tcp(six=six)
say("taken", attempt(s.bind, (own, 7006)))
s.setsockopt(SOL, socket.SO_REUSEADDR, 1)
say("taken", attempt(s.bind, (own, 7006)))
f = far_connects(port=7006)
c, _ = ls.accept()
ls.close()
say("refused", attempt(far_connects, own, 7006))
s.close()
s = tcp(own, 7006, 5)
f2 = far_connects(port=7006)
c2, _ = s.accept()
say("beside the old connection", c.send(b"1"), f.recv(5), c2.send(b"2"), f2.recv(5))
for x in c, c2, s:
    x.close()
group = []
for _ in range(3):
    s = tcp(six=six)
    s.setsockopt(SOL, socket.SO_REUSEPORT, 1)
    s.bind((own, 7007))
    s.listen(40)
    s.setblocking(False)
    group.append(s)
ends = [far_connects(port=7007) for _ in range(30)]
counts = []
for s in group:
    n = 0
    while not isinstance(raw_accept(s), str):
        n += 1
    counts.append(n)
say("SO_REUSEPORT: all", sum(counts), "spread", all(counts))
for s in group:
    s.close()

# shutdown of a listener.
ls = tcp(own, 7008, 5)
say("shut down", attempt(ls.shutdown, socket.SHUT_RD), state(ls), raw_accept(ls), polled(ls))
say("refused", attempt(far_connects, own, 7008))
say("listens again", attempt(ls.listen, 5))
f = far_connects(port=7008)
s, _ = ls.accept()
say("works", s.send(b"x"), f.recv(10))
result = []
t = threading.Thread(target=lambda: result.append(raw_accept(ls)))
t.start()
time.sleep(0.1)
ls.shutdown(socket.SHUT_RDWR)
t.join(5)
say("wakes accept", result)
ls.close()

# Threads.
ls = tcp(own, 7009, 50)


def answers(seen):
    while True:
        s, _ = ls.accept()
        word = s.recv(10)
        s.send(word[::-1])
        s.close()
        if word == b"end":
            return
        seen.append(word)


seen = []
threads = [threading.Thread(target=answers, args=(seen,)) for _ in range(4)]
for t in threads:
    t.start()
good = 0
for i in range(40):
    f = far_connects(port=7009)
    f.send(b"%04d" % i)
    good += f.recv(10) == (b"%04d" % i)[::-1]
    f.close()
for _ in threads:
    far_connects(port=7009).send(b"end")
for t in threads:
    t.join(10)
say("threads", good, len(seen))
ls.close()

# TCP_DEFER_ACCEPT: accept() waits for data.
ls = tcp(own, 7010, 5)
ls.setsockopt(TCP, socket.TCP_DEFER_ACCEPT, 5)
f = far_connects(port=7010)
time.sleep(0.2)
say("TCP_DEFER_ACCEPT", polled(ls))
f.send(b"now")
say("then", wait_in(ls), ls.accept()[0].recv(10))
ls.close()

# listen() without bind(): the kernel chooses the port.
ls = tcp(six=six)
ls.listen(5)
f = far_connects(port=ls.getsockname()[1])
s, _ = ls.accept()
say("unbound", s.send(b"x"), f.recv(10), s.getsockname()[1] == ls.getsockname()[1])
ls.close()
s.close()

# The full queue made at the beginning.
ls, ends = full, waiting
got = [ls.accept()[0]]
say("the third comes", ends[2].settles("OUT"))
got += [ls.accept()[0], ls.accept()[0]]
ls.setblocking(False)
say("three", raw_accept(ls))
for s in got:
    s.send(b"x")
say("all work", [e.take(1) for e in ends])
say("listen again", attempt(ls.listen, 10), polled(ls))
ends = [far_connects(port=7004, blocking=False) for _ in range(8)]
say("eight fit", {e.settles("OUT") for e in ends})
for s in got:
    s.close()
for _ in range(8):
    wait_in(ls)
    ls.accept()[0].close()
ls.close()

if six:
    own4, peer4 = sys.argv[4:6]
    ls = tcp("::", 7011, 5)
    f = far_connects(own4, 7011)
    s, name = ls.accept()
    say("mapped", name[0] == "::ffff:" + peer4, s.getsockname()[0] == "::ffff:" + own4,
        s.send(b"x"), f.recv(10), f.send(b"yz"), s.recv(10))
    f6 = far_connects(own, 7011)
    s6, name = ls.accept()
    say("beside", name[0] == peer, s6.send(b"x"), f6.recv(10))
    ls.close()
    ls = tcp(six=True)
    ls.setsockopt(SOL, socket.SO_REUSEADDR, 1)
    ls.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
    ls.bind(("::", 7012))
    ls.listen(5)
    l4 = tcp("0.0.0.0", 7012, 5)
    say("IPV6_V6ONLY", far_connects(own4, 7012).getpeername()[0] == own4, l4.accept()[1][0] == peer4)
    far_connects(own, 7012)
    say("and", ls.accept()[1][0] == peer)
far.forget()
say("done")
