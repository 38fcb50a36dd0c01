# SPDX-License-Identifier: BSD-2-Clause
"""tcp_poll.py OWN PEER FAR SILENT: what poll, epoll and select report of a TCP socket in each state, bit by bit."""
from tcplib import *

own, peer, far = start()
silent = sys.argv[4]
six = is6(own)
EPOLL_ALL = POLL_ALL  # the bits have the same values
ET, ONESHOT = select.EPOLLET, select.EPOLLONESHOT


def selected(s):
    r, w, x = select.select([s], [s], [s], 0)
    return ("r" if r else "") + ("w" if w else "") + ("x" if x else "") or "-"


def epolled(s, want=EPOLL_ALL):
    ep = select.epoll()
    ep.register(s, want)
    got = ep.poll(0)
    ep.close()
    return bits(got[0][1]) if got else "0"


def look(what, s, want=None):
    """Asks poll, epoll and select; they must agree after some time."""
    if want:
        settles(s, want)
    say(f"{what}:", polled(s), "=" if epolled(s) == polled(s) else epolled(s), selected(s))
    few = [polled(s, m) for m in (select.POLLIN, select.POLLOUT, select.POLLRDHUP, select.POLLPRI, 0)]
    say("   IN OUT RDHUP PRI 0:", *few)


# States.
s = tcp(six=six)
look("new", s)
s.bind((own, 0))
look("bound", s)
s.close()
ls = tcp(own, 7000, 5)
look("listens", ls)
f = far.tcp(six=six)
f.connect((own, 7000))
look("somebody came", ls, "IN")
s, _ = ls.accept()
look("listens", ls)
look("accepted", s)
s.close()
f.close()
s = tcp(six=six)
s.setblocking(False)
raw_connect(s, silent, 7000)
look("connecting", s)
s.shutdown(socket.SHUT_RDWR)
look("shut while connecting", s)
s.close()
s = tcp(six=six)
s.setblocking(False)
raw_connect(s, peer, 7099)
look("refused", s, "ERR")
so_error(s)
look("error fetched", s)
s.close()

for name, make in (("active", pair), ("passive", accepted)):
    say("--", name)
    s, f = make(own, peer, far, 7001)
    look("connected", s)
    f.send(b"12345")
    look("data", s, "IN")
    s.recv(2)
    look("some read", s)
    s.recv(3)
    look("all read", s)
    f.send(b"!", socket.MSG_OOB)
    look("urgent", s, "PRI")
    attempt(s.recv, 1, socket.MSG_OOB)
    look("urgent read", s)
    f.send(b"tail")
    f.shutdown(socket.SHUT_WR)
    look("data and FIN", s, "IN|RDHUP")
    s.recv(100)
    look("only FIN", s)
    s.shutdown(socket.SHUT_WR)
    becomes(s, "CLOSE")
    look("both FIN", s)
    s.close()
    f.close()

    s, f = make(own, peer, far, 7001)
    s.shutdown(socket.SHUT_WR)
    becomes(s, "FIN_WAIT2")
    look("SHUT_WR", s)
    f.send(b"abc")
    look("data after it", s, "IN")
    s.recv(10)
    f.close()
    look("FIN after it", s, "HUP")
    s.close()

    s, f = make(own, peer, far, 7001)
    s.shutdown(socket.SHUT_RD)
    look("SHUT_RD", s)
    s.close()
    f.close()
    s, f = make(own, peer, far, 7001)
    s.shutdown(socket.SHUT_RDWR)
    look("SHUT_RDWR", s)
    s.close()
    f.close()

    s, f = make(own, peer, far, 7001)
    f.close_reset()
    look("reset", s, "ERR")
    attempt(s.recv, 1)
    look("reset read", s)
    s.close()
    s, f = make(own, peer, far, 7001)
    f.send(b"abc")
    arrived(s, 3)
    f.close_reset()
    look("data and reset", s, "ERR")
    s.close()

    s, f = make(own, peer, far, 7001)
    n = fill(s)
    look("full", s)
    later = far.later(f, "take", n)
    look("room", s, "OUT")
    later()
    s.close()
    f.close()

# Sleeping until something comes: each call, each event.
s, f = pair(own, peer, far, 7002)
for what in SLEEPERS:
    for event in ("data", "fin"):
        if event == "data":
            t = threading.Timer(0.1, f.send, [b"x"])
        else:
            t = threading.Timer(0.1, f.shutdown, [socket.SHUT_WR])
        if event == "fin" and what != "select":
            continue
        t.start()
        begun = time.monotonic()
        got = asleep(what, s, select.POLLIN)
        t.join()
        say(what, event, got, 0.05 < time.monotonic() - begun < 5, s.recv(10))
s.close()
f.close()
s, f = pair(own, peer, far, 7002)
p = select.poll()
p.register(s, 0)
t = threading.Timer(0.1, f.close_reset)
t.start()
say("reset wakes who asked for nothing", bits(p.poll(10000)[0][1]))
t.join()
s.close()
s, f = pair(own, peer, far, 7002)
begun = time.monotonic()
say("time-out", polled(s, select.POLLIN, 0.2), time.monotonic() - begun > 0.15)
say("several", [bits(x) for _, x in select.poll().poll(0)])
n = fill(s)
t = threading.Timer(0.1, f.take, [n])
t.start()
ep = select.epoll()
ep.register(s, select.EPOLLOUT)
say("room wakes", bits(ep.poll(10)[0][1]))
t.join()
s.close()
f.close()
ep.close()


# Edges.
def edge(ep, seconds=0.1):
    """The next events, or none; the same event twice at once counts as one."""
    got = ep.poll(seconds)
    return bits(got[0][1]) if got else "0"


s, f = pair(own, peer, far, 7003)
s.setblocking(False)
ep = select.epoll()
ep.register(s, select.EPOLLIN | select.EPOLLOUT | select.EPOLLRDHUP | ET)
say("ET, first", edge(ep), edge(ep))
f.send(b"abc")
say("data", edge(ep, 5), edge(ep))
s.recv(1)
say("read one", edge(ep))
f.send(b"d")
say("more data", edge(ep, 5), edge(ep), s.recv(10))
say("all read", edge(ep))
n = fill(s)
while edge(ep, 0.05) != "0":
    pass
say("full", edge(ep))
f.take(n)
say("room", edge(ep, 5))
while edge(ep, 0.05) != "0":
    pass
ep.modify(s, select.EPOLLIN | select.EPOLLOUT | ET)
say("MOD tells again", edge(ep), edge(ep))
f.send(b"xyz")
edge(ep, 5)
out = select.epoll()
out.register(s, select.EPOLLOUT | ET)
say("OUT alone", edge(out), edge(out))
f.shutdown(socket.SHUT_WR)
say("FIN", edge(ep, 5), edge(ep))
say("OUT alone is told, too", edge(out, 5), edge(out))
out.close()
s.recv(10)
s.close()
say("closed", edge(ep))
f.close()
ep.close()

s, f = pair(own, peer, far, 7003)
ep = select.epoll()
ep.register(s, select.EPOLLIN | ONESHOT)
f.send(b"a")
say("ONESHOT", edge(ep, 5), edge(ep))
f.send(b"b")
say("silent", edge(ep))
ep.modify(s, select.EPOLLIN | ONESHOT)
say("armed again", edge(ep, 5), edge(ep), s.recv(10))
ep.unregister(s)
f.send(b"c")
arrived(s, 1)
say("removed", edge(ep))
ep.register(s, select.EPOLLIN)
say("added with data", edge(ep), edge(ep))
say("twice", attempt(ep.register, s, select.EPOLLIN))
f.close_reset()
settles(s, "ERR")
say("reset", edge(ep, 5))
s.close()
ep.close()

# In the set before it is connected.
s = tcp(six=six)
s.setblocking(False)
ep = select.epoll()
ep.register(s, select.EPOLLIN | select.EPOLLOUT | ET)
say("new", edge(ep), edge(ep))
fl = far.tcp(peer, 7004, 5)
raw_connect(s, peer, 7004)
f, _ = fl.accept()
say("connected", edge(ep, 5))
while edge(ep, 0.05) != "0":
    pass
f.send(b"x")
say("data", "IN" in edge(ep, 5).split("|"), s.recv(1))
s.close()
ep.close()
s = tcp(six=six)
s.setblocking(False)
raw_connect(s, peer, 7099)
ep = select.epoll()
ep.register(s, select.EPOLLOUT)
say("refused", edge(ep, 5), so_error(s))
s.close()
s = tcp(six=six)
s.setblocking(False)
raw_connect(s, peer, 7099)
ep.register(s, select.EPOLLOUT | ET)
say("refused", edge(ep, 5), edge(ep))
say("told by connect(2)", raw_connect(s, peer, 7099), edge(ep), edge(ep))
s.close()

# A listener, many connections, one set.
ls = tcp(own, 7005, 50)
ls.setblocking(False)
ep = select.epoll()
ep.register(ls, select.EPOLLIN | ET)
ends = [far.tcp(six=six) for _ in range(20)]
for f in ends:
    f.connect((own, 7005))
by_fd, words = {}, []
end = time.monotonic() + 10
for f in ends:
    f.send(b"%d" % f.number)
while len(words) < 20 and time.monotonic() < end:
    for fd, _ in ep.poll(1):
        if fd == ls.fileno():
            while True:
                try:
                    s, _ = ls.accept()
                except BlockingIOError:
                    break
                s.setblocking(False)
                by_fd[s.fileno()] = s
                ep.register(s, select.EPOLLIN | ET)
        else:
            words.append(by_fd[fd].recv(10))
s, f = pair(own, peer, far, 7008)
ep = select.epoll()
ep.register(s, select.EPOLLIN | ONESHOT)
f.send(b"a")
say("ONESHOT", edge(ep, 5))
s.setsockopt(SOL, socket.SO_DONTROUTE, 1)  # the kernel's from here on
f.close_reset()
settles(s, "ERR")
say("stays silent", edge(ep))
ep.modify(s, select.EPOLLIN | ONESHOT)
say("armed by the kernel", edge(ep, 5), edge(ep))
ep.unregister(s)
s.close()
s, f = pair(own, peer, far, 7009)
ep.register(s, select.EPOLLIN | ONESHOT)
f.send(b"a")
say("ONESHOT", edge(ep, 5))
s.setsockopt(SOL, socket.SO_DONTROUTE, 1)
ep.unregister(s)
ep.register(s, select.EPOLLIN)
say("removed and back", edge(ep, 5))
s.close()
# A set is not concerned by what another one has silenced.
s, f2 = pair(own, peer, far, 7010)
other = select.epoll()
ep.register(s, select.EPOLLIN | ONESHOT)
f2.send(b"a")
say("ONESHOT", edge(ep, 5))
s.setsockopt(SOL, socket.SO_DONTROUTE, 1)
say("not a member of the other", attempt(other.modify, s, select.EPOLLIN), attempt(other.unregister, s))
say("a member of both", attempt(other.register, s, select.EPOLLIN), attempt(ep.register, s, select.EPOLLIN))
say("told by the other", edge(other), edge(ep))
say("removed twice", attempt(ep.unregister, s), attempt(ep.unregister, s), attempt(ep.modify, s, select.EPOLLIN))
ep.register(s, select.EPOLLIN)
say("back", edge(ep))
s.close()
s, f3 = pair(own, peer, far, 7011)
ep.register(s, select.EPOLLIN | ONESHOT)
f3.send(b"a")
edge(ep, 5)
s.setsockopt(SOL, socket.SO_DONTROUTE, 1)
number = s.fileno()
s.close()
s, f4 = pair(own, peer, far, 7012)
if s.fileno() == number:
    say("another file of that number", attempt(ep.modify, s, select.EPOLLIN), attempt(ep.register, s, select.EPOLLIN))
other.close()
for x in (s, f2, f3, f4):
    x.close()
f.close()
ep.close()
say("twenty", len(by_fd), sorted(words) == sorted(b"%d" % f.number for f in ends))
say("done")
