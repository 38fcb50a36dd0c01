# SPDX-License-Identifier: BSD-2-Clause
"""tcp_full.py OWN PEER CONTROL: accept(2), socket(2), dup(2), recvmsg(2) and others in a process at its limit of descriptors,
of an empty queue and of a filled one, waiting and not."""
import resource
import _socket
from tcplib import *

own, peer, far = sys.argv[1], sys.argv[2], Far(sys.argv[3])
ls = tcp(own, 0, 5)
other = tcp(own, 0, 5)
port = ls.getsockname()[1]
left, right = socket.socketpair()
spare = os.open("/dev/null", os.O_RDONLY)
first = far.tcp(six=is6(own))
first.connect((own, port))
conn, _ = ls.accept()
LIMIT = 64
resource.setrlimit(resource.RLIMIT_NOFILE, (LIMIT, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))


def fill_numbers():
    held = []
    try:
        while True:
            held.append(os.dup(spare))
    except OSError as e:
        say("full", len(held) > 0, name_of(e.errno))
    return held


def accept4(s, flags=0):
    """accept4(2), bare; a number is said as such."""
    got = raw("accept4", s.fileno(), None, None, flags)
    return got if isinstance(got, str) else (os.close(got), "a connection")[1]


def all_calls(what):
    for flags in 0, socket.SOCK_NONBLOCK, socket.SOCK_CLOEXEC, 1:
        say(what, "accept4", flags, accept4(ls, flags))
    ls.setblocking(False)
    if what != "empty queue":  # EAGAIN here, so that no call pays for the look
        say(what, "accept4, nonblocking listener", accept4(ls))
    ls.setblocking(True)
    say(what, "accept4 of a connection", accept4(conn), "of no listener", accept4(right))
    if "BAD_ADDRESSES" not in os.environ:
        say(what, "accept4, bad address", raw("accept4", ls.fileno(), ctypes.c_void_p(1), ctypes.c_void_p(8), 0))
    say(what, "socket", raw("socket", conn.family, socket.SOCK_STREAM, 0), raw("socket", conn.family, socket.SOCK_DGRAM, 0))
    say(what, "dup", raw("dup", conn.fileno()), raw("dup", ls.fileno()), raw("fcntl", conn.fileno(), fcntl.F_DUPFD, 3))
    say(what, "dup2", raw("dup2", conn.fileno(), LIMIT), raw("dup2", conn.fileno(), conn.fileno()) == conn.fileno())
    say(what, "epoll_create1", raw("epoll_create1", 0), "socketpair", attempt(socket.socketpair))
    socket.send_fds(left, [b"x"], [conn.fileno()])
    data, fds, flags, _ = socket.recv_fds(right, 10, 2)
    say(what, "rights", data, len(fds), bool(flags & socket.MSG_CTRUNC))


held = fill_numbers()
all_calls("empty queue")
second = far.tcp(six=is6(own))
second.connect((own, port))
say("ready", polled(ls, select.POLLIN, 5))
all_calls("a connection waits")
say("ready", polled(ls, select.POLLIN))

# With one number free a call takes the connection that waits, and the next one fails again.
os.close(held.pop())
got, _ = ls._accept()
say("one number", accept4(ls))
os.close(got)

# A call that waits, and numbers that others have taken meanwhile.
result = []
begun = threading.Event()
t = threading.Thread(target=lambda: (begun.set(), result.append(accept4(ls))))
t.start()
begun.wait()
time.sleep(0.1)
third = far.tcp(six=is6(own))
third.connect((own, port))
t.join(5)
say("waited", result)
for fd in held:
    os.close(fd)
conn.sendall(b"y")
say("the first one", first.recv(10))
far.forget()
