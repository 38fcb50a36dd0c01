# SPDX-License-Identifier: BSD-2-Clause
"""tcp_left.py OWN PEER FAR: calls that ask for the outcome of connect(2), on sockets that became the kernel's meanwhile
(SO_DONTROUTE) and on those that did not; the name of a disconnected one; the control data of an urgent byte."""
from tcplib import *

own, peer, far = start()
six = is6(peer)
MSG_FASTOPEN = 0x20000000


def begin(port):
    s = tcp(six=six)
    s.setblocking(False)
    raw_connect(s, peer, port)
    return s


def leave(s, leaves):
    if leaves:
        s.setsockopt(SOL, socket.SO_DONTROUTE, 1)
        time.sleep(0.05)


def connected(listener, leaves):
    """Both ends of a connection that the program has not asked for yet."""
    s = begin(7000)
    f, _ = listener.accept()
    settles(s, "OUT")
    leave(s, leaves)
    return s, f


for leaves in (False, True):
    fl = far.tcp(peer, 7000, 5)
    s, f = connected(fl, leaves)
    say(leaves, "connected", attempt(s.sendto, b"fast", MSG_FASTOPEN, (peer, 7000)), f.take(4),
        attempt(s.sendto, b"fast", MSG_FASTOPEN, (peer, 7000)))
    s.close()
    f.close()
    s, f = connected(fl, leaves)
    f.close_reset()
    settles(s, "ERR")
    say(leaves, "reset", attempt(s.recv, 1), attempt(s.sendto, b"fast", MSG_FASTOPEN, (peer, 7000)), so_error(s))
    s.close()
    s, f = connected(fl, leaves)  # (both ends are over)
    f.shutdown(socket.SHUT_WR)
    settles(s, "RDHUP")
    say(leaves, "shut", attempt(s.shutdown, socket.SHUT_WR), settles(s, "HUP") and 0, raw_connect(s, peer, 7000), so_error(s))
    s.close()
    f.close()
    s, f = connected(fl, leaves)
    f.close_reset()
    settles(s, "ERR")
    say(leaves, "reset and shut", attempt(s.shutdown, socket.SHUT_RDWR), raw_connect(s, peer, 7000), raw_connect(s, peer, 7000))
    s.close()
    fl.close()
    s = begin(7001)
    settles(s, "ERR")
    say(leaves, "refused and shut", attempt(s.shutdown, socket.SHUT_WR), attempt(s.sendto, b"fast", MSG_FASTOPEN, (peer, 7001)),
        raw_connect(s, peer, 7001), so_error(s))
    s.close()
    s, f = pair(own, peer, far, 7008)
    ep = select.epoll()
    ep.register(s, select.EPOLLIN)
    disconnect(s)
    leave(s, leaves)
    say(leaves, "the error of a disconnected one", polled(s), [bits(ev) for _, ev in ep.poll(0)], attempt(s.send, b"x"), so_error(s), polled(s))
    s.close()
    f.close()
    ep.close()
    s, f = pair(own, peer, far, 7002)
    ep = select.epoll()
    ep.register(s, select.EPOLLIN)
    leave(s, leaves)
    port = s.getsockname()[1]
    say(leaves, "disconnected", [(disconnect(s), s.getsockname()[1] == port) for _ in range(3)], so_error(s), raw_connect(s, peer, 7003),
        s.getsockname()[1] == port)
    fl = far.tcp(peer, 7006, 5)
    say(leaves, "connected again", raw_connect(s, peer, 7006), attempt(ep.register, s))
    f.close()
    f, _ = fl.accept()
    f.send(b"to a member")
    say("it is a member still", [ev for _, ev in ep.poll(5)])
    ep.close()
    fl.close()
    s.close()
    f.close()
got = []
signal.signal(signal.SIGIO, lambda *_: got.append("SIGIO"))
for fin in (False, True):
    s, f = pair(own, peer, far, 7005)
    f.send(b"old")
    if fin:
        f.shutdown(socket.SHUT_WR)
    settles(s, "RDHUP" if fin else "IN")
    fcntl.fcntl(s, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(s, fcntl.F_SETFL, os.O_ASYNC)
    time.sleep(0.1)
    say("what is there already is no signal", got)
    if not fin:
        f.send(b"new")
        wait_for(lambda: got, WAIT)
        say("what comes is one", got[:1], take(s, 6))
    got.clear()
    s.close()
    f.close()
    time.sleep(0.1)
    got.clear()
for how in ("connect", "disconnect"):
    fl = far.tcp(peer, 7007, 5)
    s = begin(7007)
    f, _ = fl.accept()
    f.close_reset()
    settles(s, "ERR")
    fcntl.fcntl(s, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(s, fcntl.F_SETFL, os.O_ASYNC | os.O_NONBLOCK)
    got.clear()
    say("the end of one that is over is one, too", raw_connect(s, peer, 7007) if how == "connect" else disconnect(s),
        wait_for(lambda: got), got)
    s.close()
    fl.close()
s, f = pair(own, peer, far, 7004)
f.send(b"!", socket.MSG_OOB)
settles(s, "PRI")
say("urgent", s.recvmsg(0, 40, socket.MSG_OOB | socket.MSG_PEEK), s.recvmsg(1, 40, socket.MSG_OOB | socket.MSG_CMSG_CLOEXEC))
s.close()
say("done")
