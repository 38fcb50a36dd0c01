# SPDX-License-Identifier: BSD-2-Clause
"""tcp_edges.py OWN PEER FAR: every call of a socket, one after the other, in every state."""
from tcplib import *

own, peer, far = start()
six = is6(own)
signal.signal(signal.SIGPIPE, signal.SIG_IGN)
PEEK, DONTWAIT, WAITALL, TRUNC, OOB, MORE, NOSIGNAL = (
    socket.MSG_PEEK, socket.MSG_DONTWAIT, socket.MSG_WAITALL, socket.MSG_TRUNC, socket.MSG_OOB, socket.MSG_MORE,
    socket.MSG_NOSIGNAL)
RD, WR, RDWR = socket.SHUT_RD, socket.SHUT_WR, socket.SHUT_RDWR
IP6 = socket.IPPROTO_IPV6
far_listener = far.tcp(peer, 7000, 50)


def raw_recv(s, n, flags=DONTWAIT):
    buf = ctypes.create_string_buffer(max(n, 1))
    r = raw("recv", s.fileno(), buf, n, flags)
    return r if isinstance(r, str) else (r, buf.raw[:min(max(r, 0), n)])


def fresh(blocking=True):
    s = tcp(six=six)
    s.setblocking(blocking)
    return s


def connected(before=None):
    s = fresh()
    if before:
        before(s)
    s.connect((peer, 7000))
    f, _ = far_listener.accept()
    return s, f


# A device may lose its link when it is taken into use; a blocking call waits for the link, the calls below do not.
for first in connected():
    first.close()


def accepted_one(port=7001):
    return accepted(own, peer, far, port)


# The states, by name: how to get there. Each returns the socket and a list of others to close with it.
def st_new():
    return fresh(), []


def st_bound():
    return tcp(own, 7010), []


def st_listen():
    return tcp(own, 7011, 5), []


def st_established():
    s, f = connected()
    return s, [f]


def st_passive():
    s, f = accepted_one()
    return s, [f]


def st_with_data():
    s, f = connected()
    f.send(b"0123456789")
    arrived(s, 10)
    return s, [f]


def st_fin_wait2():
    s, f = connected()
    s.shutdown(WR)
    becomes(s, "FIN_WAIT2")
    return s, [f]


def st_fin_wait2_rd():
    s, f = connected()
    s.shutdown(RDWR)
    becomes(s, "FIN_WAIT2")
    return s, [f]


def st_close_wait():
    s, f = connected()
    f.shutdown(WR)
    becomes(s, "CLOSE_WAIT")
    return s, [f]


def st_close_wait_data():
    s, f = connected()
    f.send(b"abc")
    f.shutdown(WR)
    becomes(s, "CLOSE_WAIT")
    return s, [f]


def st_closed():
    s, f = connected()
    s.shutdown(WR)
    becomes(s, "FIN_WAIT2")
    f.close()
    becomes(s, "CLOSE")
    return s, []


def st_closed_last_ack():
    s, f = connected()
    f.shutdown(WR)
    becomes(s, "CLOSE_WAIT")
    s.shutdown(WR)
    becomes(s, "CLOSE")
    return s, [f]


def st_reset():
    s, f = connected()
    f.close_reset()
    becomes(s, "CLOSE")
    return s, []


def st_reset_data():
    s, f = connected()
    f.send(b"abc")
    arrived(s, 3)
    f.close_reset()
    becomes(s, "CLOSE")
    return s, []


def st_reset_read():
    s, f = connected()
    f.close_reset()
    becomes(s, "CLOSE")
    attempt(s.recv, 1)
    return s, []


def st_reset_fin():
    """FIN, then RST."""
    s, f = connected()
    f.close()
    becomes(s, "CLOSE_WAIT")
    s.send(b"x")
    becomes(s, "CLOSE")
    return s, []


def st_refused():
    s = fresh(False)
    raw_connect(s, peer, 7099)
    settles(s, "ERR")
    return s, []


def st_refused_read():
    s, more = st_refused()
    so_error(s)
    return s, more


def st_shut_new():
    s = fresh()
    attempt(s.shutdown, RDWR)
    return s, []


def st_dissolved():
    s, f = connected()
    disconnect(s)
    return s, [f]


def st_dissolved_bound():
    s = tcp(own, 7012)
    s.connect((peer, 7000))
    f, _ = far_listener.accept()
    disconnect(s)
    return s, [f]


def st_unsent():
    s, f = connected()
    fill(s)
    wait_for(lambda: struct.unpack_from("I", s.getsockopt(TCP, socket.TCP_INFO, 232), 228)[0] == 0)
    fill(s)
    return s, [f]


STATES = [v for k, v in list(globals().items()) if k.startswith("st_")]


# Actions tried in each state. They never wait.
def ctl_queues(s):
    values = [attempt(ioctl_int, s, what) for what in (FIONREAD, SIOCOUTQ, SIOCOUTQNSD, SIOCATMARK)]
    # The number of bytes that fit depends on the implementation.
    return [value if isinstance(value, str) or value < 20000 else "much" for value in values]


def recv_kinds(s):
    return [raw_recv(s, 4, flags | DONTWAIT) for flags in
            (PEEK, PEEK | WAITALL, TRUNC | PEEK, OOB, OOB | PEEK, WAITALL, 0, 0)] + [raw_recv(s, 0), raw_recv(s, 0, DONTWAIT | PEEK)]


def recvmsg_kinds(s):
    out = []
    for flags in (PEEK, 0, 0):
        got = attempt(s.recvmsg, 4, 100, flags | DONTWAIT)
        out.append(got if isinstance(got, str) else (got[0], got[1], got[2], str(got[3])[:0] if got[3] else got[3]))
    out.append(attempt(s.recvmsg, 4, 100, socket.MSG_ERRQUEUE | DONTWAIT))
    return out


def send_kinds(s):
    out = []
    for flags in (0, NOSIGNAL, MORE, 0):
        out.append(attempt(s.send, b"x", flags | DONTWAIT))
    out += [attempt(s.send, b"", DONTWAIT), attempt(os.write, s.fileno(), b""), attempt(s.sendto, b"x", DONTWAIT, (peer, 9)),
            attempt(s.sendmsg, [b"a", b"b"], [], DONTWAIT), attempt(s.send, b"!", OOB | DONTWAIT)]
    return out


def names(s):
    n = attempt(s.getsockname)
    p = attempt(s.getpeername)
    return (n if isinstance(n, str) else (n[0], n[1] > 0), p if isinstance(p, str) else p[0])


def settled(s):
    """Waits until the peer has answered; it does not answer while it has not read what was sent before."""
    unsent = attempt(ioctl_int, s, SIOCOUTQ)
    stuck = isinstance(unsent, int) and unsent > 1000
    wait_for(lambda: state(s) not in ("FIN_WAIT1", "LAST_ACK", "CLOSING"), 0.1 if stuck else WAIT)
    time.sleep(0.01)
    return polled(s)


def shut_kinds(s):
    return [(attempt(s.shutdown, how), settled(s), state(s)) for how in (RD, RD, WR, WR, RDWR)]


def shut_wr_first(s):
    return [(attempt(s.shutdown, how), settled(s)) for how in (RDWR, WR, RD)]


def connect_kinds(s):
    out = [raw_connect(s, peer, 7099)]
    settles(s, "ERR", 0.3) if out[0] == "EINPROGRESS" else None
    out.append(raw_connect(s, peer, 7099))
    settles(s, "ERR", 0.3) if out[-1] == "EINPROGRESS" else None
    return out + [so_error(s), polled(s)]


def connect_good(s):
    out = [raw_connect(s, peer, 7000)]
    if out[0] == "EINPROGRESS":
        out.append(settles(s, "OUT", 2))
        f, _ = far_listener.accept()
        out += [raw_connect(s, peer, 7000), raw_connect(s, peer, 7000), attempt(s.send, b"abc")]
        if out[-1] == 3:
            out.append(f.take(3))
        f.close()
    return out


def listen_kinds(s):
    before = state(s)
    out = [attempt(s.listen, 5)]
    return [before] + out + [state(s), attempt(s.getsockopt, SOL, socket.SO_ACCEPTCONN)]


def bind_kinds(s):
    return [attempt(s.bind, (own, 7020)), attempt(s.bind, (own, 0)), raw("bind", s.fileno(), sockaddr(own, 7021), 3)]


def quickack(s):
    values = []
    for value in (0, 1):
        s.setsockopt(TCP, 12, value)
        values.append(s.getsockopt(TCP, 12))
    return values


def accept_kinds(s):
    return [raw("accept4", s.fileno(), None, None, flags) for flags in (0, 0x1234567)]


def errors(s):
    return [so_error(s), so_error(s), polled(s), attempt(s.recv, 1), attempt(s.send, b"x"), so_error(s)]


def dissolve(s):
    return [disconnect(s), state(s), polled(s), so_error(s), so_error(s), polled(s), attempt(s.recv, 1), attempt(s.send, b"x"),
            attempt(s.getpeername), disconnect(s)]


def poll_bits(s):
    return [polled(s), polled(s, select.POLLIN), polled(s, select.POLLOUT), polled(s, select.POLLRDHUP), polled(s, 0)]


def epoll_bits(s):
    ep = select.epoll()
    ep.register(s, select.EPOLLIN | select.EPOLLOUT | select.EPOLLRDHUP | select.EPOLLPRI)
    got = [bits(m) for _, m in ep.poll(0)]
    ep.close()
    return got


def select_sets(s):
    return [len(x) for x in select.select([s], [s], [s], 0)]


def state_opts(s):
    opts = [(SOL, socket.SO_ACCEPTCONN), (SOL, socket.SO_TYPE), (SOL, socket.SO_KEEPALIVE), (TCP, socket.TCP_MAXSEG),
            (TCP, socket.TCP_NODELAY), (TCP, socket.TCP_CORK), (TCP, socket.TCP_DEFER_ACCEPT),
            (TCP, socket.TCP_SYNCNT), (TCP, socket.TCP_LINGER2), (TCP, socket.TCP_USER_TIMEOUT), (TCP, 23), (TCP, 24), (TCP, 30),
            (TCP, 19), (TCP, 31), (TCP, 28), (TCP, 22), (TCP, 37), (TCP, 36),
            (SOL, 57), (SOL, 56), (SOL, 42), (SOL, 49), (SOL, 28), (SOL, 25),
            (socket.IPPROTO_IP, 14), (socket.IPPROTO_IP, 1), (socket.IPPROTO_IP, 2), (socket.IPPROTO_IP, 9),
            (IP6, 24), (IP6, 26), (IP6, 16), (IP6, 1), (IP6, 67)]
    out = []
    for level, name in opts:
        if level == TCP and name == 2 and state(s) == "CLOSE":  # left over
            continue
        v = attempt(s.getsockopt, level, name)
        if level == SOL and name in (57, 56, 49) and isinstance(v, int):
            v = "number"
        if level == SOL and name == 28 and isinstance(v, int):
            v = "a name"
        if level == TCP and name == 24:
            v = isinstance(v, int)
        out.append((level, name, v))
    return out


def set_in_state(s):
    opts = [(IP6, 26, 1), (IP6, 26, 0), (TCP, 23, 5), (TCP, 30, 1), (TCP, 30, 0), (TCP, 19, 0), (SOL, 2, 1), (SOL, 15, 1), (SOL, 15, 0),
            (TCP, 9, 1), (TCP, 2, 1000), (TCP, 12, 0), (TCP, 12, 1), (TCP, 7, 2), (SOL, 42, -1), (IP6, 1, socket.AF_INET)]
    if state(s) == "CLOSE":
        del opts[:2]
    s.setsockopt(TCP, socket.TCP_NODELAY, 1)
    return [attempt(s.getsockopt, *((IP6, 24) if six else (socket.IPPROTO_IP, 14)))] + [(level, name, attempt(s.setsockopt, level, name, v)) for level, name, v in opts] + \
        [attempt(s.setsockopt, TCP, 31, b"tls"), attempt(s.setsockopt, TCP, 13, b"reno"), attempt(s.setsockopt, TCP, 13, b"nosuch")]


ACTS = [ctl_queues, recv_kinds, recvmsg_kinds, send_kinds, names, shut_kinds, shut_wr_first, connect_kinds, connect_good, listen_kinds,
        bind_kinds, accept_kinds, quickack, errors, dissolve, poll_bits, epoll_bits, select_sets, state_opts, set_in_state]
# The queues of a dissolved connection are not compared.
LEFT_OUT = [(make, ctl_queues) for make in (st_dissolved, st_dissolved_bound)] + \
    [(st_unsent, act) for act in ACTS if act not in (ctl_queues, send_kinds, shut_kinds, errors, dissolve, poll_bits)]
for make in STATES:
    for act in ACTS:
        if (make, act) in LEFT_OUT:
            continue
        faulthandler.dump_traceback_later(25, exit=True)
        s, more = make()
        s.setblocking(False)
        say(make.__name__[3:], act.__name__, act(s))
        s.close()
        for x in more:
            x.close()
say("done")
