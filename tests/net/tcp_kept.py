# SPDX-License-Identifier: BSD-2-Clause
"""tcp_kept.py OWN PEER CONTROL: sockets with an error that recvmmsg(2) has kept, of streams and datagrams; in each round
another call is the first that may show it."""
from tcplib import *

own, peer, far = sys.argv[1], sys.argv[2], Far(sys.argv[3])
N = 3


class Iovec(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("len", ctypes.c_size_t)]


class Msg(ctypes.Structure):
    _fields_ = [("name", ctypes.c_void_p), ("namelen", ctypes.c_uint), ("iov", ctypes.POINTER(Iovec)),
                ("iovlen", ctypes.c_size_t), ("control", ctypes.c_void_p), ("controllen", ctypes.c_size_t),
                ("flags", ctypes.c_size_t), ("len", ctypes.c_size_t)]


def recvmmsg(s, n=N, flags=0, good=N):
    """Of its places the first `good` are memory."""
    bufs = [ctypes.create_string_buffer(100) for _ in range(N)]
    iov = [Iovec(ctypes.cast(b, ctypes.c_void_p) if i < good else 8, 10) for i, b in enumerate(bufs)]
    msgs = (Msg * N)(*[Msg(iov=ctypes.pointer(v), iovlen=1) for v in iov])
    return raw("recvmmsg", s.fileno(), msgs, n, flags, None)


def by_epoll(s):
    with select.epoll() as ep:
        ep.register(s, POLL_ALL)
        got = ep.poll(0)
        return bits(got[0][1]) if got else "0"


def by_select(s):
    return [len(x) for x in select.select([s], [s], [s], 0)]


ep = select.epoll()
FIRST = {
    "poll": polled, "epoll": by_epoll, "select": by_select, "an old set": lambda s: [bits(e) for _, e in ep.poll(0)],
    "SO_ERROR": so_error, "recv": lambda s: attempt(s.recv, 10), "send": lambda s: attempt(s.send, b"x"),
    "recvmmsg": recvmmsg, "recvmmsg of none": lambda s: recvmmsg(s, 0), "peek": lambda s: attempt(s.recv, 10, socket.MSG_PEEK),
    "MSG_ERRQUEUE": lambda s: attempt(s.recv, 10, socket.MSG_ERRQUEUE),
    "connect": lambda s: attempt(s.connect, s.getpeername()) if s.type == socket.SOCK_DGRAM else None,
    "dup": lambda s: polled(s.dup()),
}


def then(what, first, s):
    """Raises nothing: an error is said by its name."""
    say(what, first, FIRST[first](s))
    for later in "poll", "epoll", "SO_ERROR", "poll", "recv", "poll", "SO_ERROR":
        say(what, first, "then", later, FIRST[later](s))


def stream(first):
    """Its time-out ends the call after ten bytes: EINTR is kept then, too. Here a reset ends it."""
    ls = tcp(own, 0, 1)
    f = far.tcp(six=is6(own))
    f.connect(ls.getsockname())
    s, _ = ls.accept()
    ep.register(s, POLL_ALL)
    f.sendall(b"x" * 10)
    arrived(s, 10)
    result = []
    t = threading.Thread(target=lambda: result.append(recvmmsg(s)))
    t.start()
    wait_for(lambda: ioctl_int(s, FIONREAD) == 0)
    close_far(f)
    t.join(10)
    s.setblocking(False)
    say("stream", "recvmmsg", result)
    then("stream", first, s)
    ep.unregister(s)
    s.close()
    ls.close()


def close_far(f):
    f.close_reset()


def datagram(first):
    s = socket.socket(socket.AF_INET6 if is6(own) else socket.AF_INET, socket.SOCK_DGRAM)
    s.bind((own, 0))
    f = far.call("socket_udp", is6(own))
    f.bind((peer, 0))
    s.connect(f.getsockname()[:2])
    ep.register(s, POLL_ALL)
    s.send(b"ping")
    data, back = f.recvfrom(10)
    f.sendto(b"x" * 10, tuple(back[:2]))
    settles(s, "IN")
    result = []
    t = threading.Thread(target=lambda: result.append(recvmmsg(s)))
    t.start()
    wait_for(lambda: "IN" not in polled(s, select.POLLIN))
    f.close()
    time.sleep(0.02)
    s.send(b"to nobody")
    t.join(10)
    s.setblocking(False)
    say("datagram", "recvmmsg", result)
    then("datagram", first, s)
    ep.unregister(s)
    s.close()


def alive(first, kind):
    """EFAULT is kept, and the socket goes on."""
    if kind == "stream":
        ls = tcp(own, 0, 1)
        f = far.tcp(six=is6(own))
        f.connect(ls.getsockname())
        s, _ = ls.accept()
        ls.close()
        f.sendall(b"x" * 20)
        arrived(s, 20)
    else:
        s = socket.socket(socket.AF_INET6 if is6(own) else socket.AF_INET, socket.SOCK_DGRAM)
        s.bind((own, 0))
        f = far.call("socket_udp", is6(own))
        f.bind((peer, 0))
        s.connect(f.getsockname()[:2])
        f.connect(s.getsockname()[:2])
        for _ in range(3):
            f.send(b"x" * 10)
        time.sleep(0.02)
        settles(s, "IN")
    ep.register(s, POLL_ALL)
    s.setblocking(False)
    say("alive", kind, "recvmmsg", recvmmsg(s, good=1))
    then("alive " + kind, first, s)
    ep.unregister(s)
    s.close()
    f.close()


for first in FIRST:
    stream(first)
    datagram(first)
    if "BAD_ADDRESSES" not in os.environ:
        alive(first, "stream")
        alive(first, "datagram")
far.forget()
