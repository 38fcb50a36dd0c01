# SPDX-License-Identifier: BSD-2-Clause
"""tcp_fastopen.py OWN PEER FAR [off|bare]: TCP Fast Open both ways. off: the sysctl of this host forbids it; bare:
data without cookies. No host has a cookie at the start."""
from tcplib import *

own, peer, far = start()
six = is6(own)
how = sys.argv[4] if len(sys.argv) > 4 else ""
MSG_FASTOPEN, TCP_FASTOPEN, FASTOPEN_CONNECT, NO_COOKIE = 0x20000000, 23, 30, 34
DONTWAIT = socket.MSG_DONTWAIT
SYN_DATA = 32


def syn_data(s):
    """Whether data went with the SYN, and whether the peer took them."""
    return bool(s.getsockopt(TCP, socket.TCP_INFO, 8)[5] & SYN_DATA)


def far_listener(port):
    fl = far.tcp(peer, port, 5)
    fl.setsockopt(TCP, TCP_FASTOPEN, 5)
    return fl


def whole(what, s, fl, n):
    """The far end gets n bytes; both directions work; both ends close."""
    f, _ = fl.accept()
    got = f.take(n)
    say("  ", what, "arrived", got == pattern(1, 0, n), "with the SYN:", syn_data(s), syn_data(f))
    f.send(b"answer")
    say("   answer", s.recv(10), polled(s), so_error(s), s.getpeername()[:2] == (peer, fl.getsockname()[1]))
    s.send(b"more")
    say("   more", f.take(4))
    s.close()
    say("   end", f.to_end())
    f.close()


def first_send(fl, to):
    """No cookie is there yet."""
    data = pattern(1, 0, 100)
    s = tcp(six=six)
    sent = attempt(s.sendto, data, MSG_FASTOPEN | DONTWAIT, to)
    # The handshake may be over already: then the data go at once.
    say("no cookie, not waiting:", "EINPROGRESS" if sent == 100 and not how else sent)
    if how == "off":
        say("   ", polled(s), state(s), attempt(s.setsockopt, TCP, FASTOPEN_CONNECT, 1),
            s.getsockopt(TCP, FASTOPEN_CONNECT))
        s.connect(to)
        s.send(data)
        whole("plain", s, fl, 100)
        return
    settles(s, "OUT")
    if how != "bare":
        say("   then", sent if sent == 100 else attempt(s.send, data))
    whole("not waiting", s, fl, 100)


def by_sendto(fl, to):
    for n in (100, 1, 0, 5000, 200000):
        data = pattern(1, 0, n)
        s = tcp(six=six)
        say("waiting:", attempt(s.sendto, data, MSG_FASTOPEN, to), state(s))
        say("   again", attempt(s.sendto, b"x", MSG_FASTOPEN, to), attempt(s.connect, to))
        whole(f"{n} bytes", s, fl, n)
        s = tcp(six=six)
        s.setblocking(False)
        sent = attempt(s.sendto, data, MSG_FASTOPEN, to)
        say("not waiting:", sent)
        settles(s, "OUT")
        s.setblocking(True)
        if isinstance(sent, str):
            sent = 0
        s.sendall(data[sent:])
        whole("all", s, fl, n)
    s = tcp(six=six)
    data = pattern(1, 0, 100)
    say("sendmsg:", s.sendmsg([data[:30], data[30:]], [], MSG_FASTOPEN, to))
    whole("pieces", s, fl, 100)


def by_option(fl, to):
    """TCP_FASTOPEN_CONNECT: connect() leaves the SYN to the first write."""
    data = pattern(1, 0, 100)
    s = tcp(six=six)
    say("option:", attempt(s.setsockopt, TCP, FASTOPEN_CONNECT, 2), attempt(s.setsockopt, TCP, FASTOPEN_CONNECT, 1),
        s.getsockopt(TCP, FASTOPEN_CONNECT))
    say("connects:", attempt(s.connect, to), state(s), polled(s), attempt(s.getpeername), so_error(s))
    s.setblocking(False)
    say("   again", attempt(s.connect, to), attempt(s.recv, 10))
    s.setblocking(True)
    say("   writes", attempt(s.send, data), state(s), attempt(s.setsockopt, TCP, FASTOPEN_CONNECT, 1))
    whole("by connect", s, fl, 100)
    s = tcp(six=six)
    s.setsockopt(TCP, FASTOPEN_CONNECT, 1)
    s.setblocking(False)
    say("not waiting:", attempt(s.connect, to), attempt(s.send, data))
    settles(s, "OUT")
    s.setblocking(True)
    whole("by connect", s, fl, 100)
    s = tcp(six=six)
    s.setsockopt(TCP, FASTOPEN_CONNECT, 1)
    say("never written:", attempt(s.connect, to), s.close())
    s = tcp(six=six)
    s.setsockopt(TCP, FASTOPEN_CONNECT, 1)
    say("thought better of:", attempt(s.connect, to), disconnect(s), state(s), polled(s))
    s.connect(to)
    s.send(data)
    whole("after all", s, fl, 100)


def refused():
    """A port that refuses: the cookie is valid for all ports of the peer."""
    data = pattern(1, 0, 100)
    s = tcp(six=six)
    say("refused, waiting:", attempt(s.sendto, data, MSG_FASTOPEN, (peer, 9)), so_error(s), polled(s))
    s.close()
    s = tcp(six=six)
    say("refused, not waiting:", attempt(s.sendto, data, MSG_FASTOPEN | DONTWAIT, (peer, 9)),
        settles(s, "ERR"), attempt(s.send, b"x"), so_error(s))
    s.close()


def after_connect(fl, to):
    """When a non-blocking connect() is done, it need not be called again."""
    s = tcp(six=six)
    s.setblocking(False)
    say("connected:", attempt(s.connect, to), settles(s, "OUT"), attempt(s.send, pattern(1, 0, 3), MSG_FASTOPEN),
        attempt(s.send, b"abc", MSG_FASTOPEN))
    s.setblocking(True)
    whole("once", s, fl, 3)
    s = tcp(six=six)
    s.setblocking(False)
    say("refused:", attempt(s.connect, (peer, 9)), settles(s, "ERR"), attempt(s.send, b"abc", MSG_FASTOPEN), so_error(s))
    s.close()


def wrong_calls(to):
    s = tcp(six=six)
    say("no address:", attempt(s.send, b"x", MSG_FASTOPEN))
    s.close()
    s = tcp(six=six)
    say("no family:", raw("sendto", s.fileno(), b"x", 1, MSG_FASTOPEN, bytes(16), 16))
    s.close()
    s = tcp(own, 7009, 1)
    say("listener:", attempt(s.sendto, b"x", MSG_FASTOPEN, to))
    s.close()


def not_taken():
    """Data are sent again to a peer that takes none with a SYN."""
    data = pattern(1, 0, 100)
    fl = far.tcp(peer, 7001, 5)
    s = tcp(six=six)
    say("not taken:", attempt(s.sendto, data, MSG_FASTOPEN, (peer, 7001)))
    whole("sent again", s, fl, 100)
    fl.close()


def no_answer():
    """The queue of the port is full, so no answer comes."""
    data = pattern(1, 0, 100)
    fl = far.tcp(peer, 7002, 0)
    kept = tcp(six=six)
    kept.connect((peer, 7002))
    s = tcp(six=six)
    s.setsockopt(TCP, socket.TCP_USER_TIMEOUT, 500)
    say("no answer:", attempt(s.sendto, data, MSG_FASTOPEN, (peer, 7002)), so_error(s), polled(s))
    s.close()
    kept.close()
    fl.close()


def client():
    fl, to = far_listener(7000), (peer, 7000)
    first_send(fl, to)
    if how != "off":
        by_sendto(fl, to)
        by_option(fl, to)
        refused()
        after_connect(fl, to)
        wrong_calls(to)
    fl.close()
    if how != "off":
        not_taken()
    if not six and not how:
        no_answer()


def server():
    ls = tcp(own, 7010, 5)
    ls.setsockopt(TCP, TCP_FASTOPEN, 5)
    say("server:", ls.getsockopt(TCP, TCP_FASTOPEN))
    for n in (10, 1000, 100, 3000):
        data = pattern(1, 0, n)
        f = far.tcp(six=six)
        sent = far.later(f, "sendto", data, MSG_FASTOPEN, (own, 7010))
        s, name = ls.accept()
        say("  ", n, sent(), take(s, n) == data, syn_data(s), syn_data(f), becomes(s, "ESTABLISHED"), name[0] == peer)
        s.send(b"answer")
        say("   answer", f.take(6), f.close(), s.recv(1))
        s.close()
    ls.close()


client()
server()
say("done")
