# SPDX-License-Identifier: BSD-2-Clause
"""tcp_measured.py OWN PEER CONTROL: connections that are used, then given to the kernel,
and used again: whether the round trip is known, and whether the first time-out is that of a measured one."""
from tcplib import *

own, peer, far = sys.argv[1], sys.argv[2], Far(sys.argv[3])


def connected(accepts):
    if accepts:
        ls = tcp(own, 0, 1)
        f = far.tcp(six=is6(own))
        f.connect(ls.getsockname()[:2])
        return ls.accept()[0], f
    fl = far.tcp(peer, 0, 1)
    s = tcp(six=is6(own))
    s.connect(fl.getsockname()[:2])
    return s, fl.accept()[0]


def to_the_kernel(s):
    """SO_TXTIME is an option that only the kernel has."""
    s.setsockopt(SOL, 61, struct.pack("iI", time.CLOCK_MONOTONIC, 0))


def times(s):
    """TCP_INFO: the time-out is below half a second, and there is a round trip."""
    info = s.getsockopt(TCP, socket.TCP_INFO, 104)
    rto, rtt = struct.unpack_from("=I", info, 8)[0], struct.unpack_from("=I", info, 68)[0]
    return [rto < 500000, rtt > 0]


def swap_bytes(s, f, n=20):
    for i in range(n):
        s.sendall(pattern(1, i * 10, 10))
        assert f.take(10) == pattern(1, i * 10, 10)
        f.sendall(pattern(2, i * 7, 7))
        assert take(s, 7) == pattern(2, i * 7, 7)


for accepts in False, True:
    s, f = connected(accepts)
    swap_bytes(s, f)
    say(accepts, "before", times(s))
    to_the_kernel(s)
    say(accepts, "measured", wait_for(lambda: all(times(s)), 2), times(s))
    acked(s)
    say(accepts, "in flight", ioctl_int(s, SIOCOUTQ), "arrived", ioctl_int(s, FIONREAD))
    swap_bytes(s, f)
    s.sendall(b"the end")
    s.shutdown(socket.SHUT_WR)
    say(accepts, "the rest", f.take(100), f.getsockopt(SOL, socket.SO_ERROR))
    f.close()
    say(accepts, s.recv(10), so_error(s))
    s.close()

# With TCP_CORK, and with a byte that is in flight, all goes on.
for how in "cork", "window", "reading":
    s, f = connected(False)
    swap_bytes(s, f)
    if how == "cork":
        s.setsockopt(TCP, socket.TCP_CORK, 1)
        s.sendall(b"abc")
    if how == "window":
        s.setblocking(False)
        n = fill(s)
        s.setblocking(True)
    if how == "reading":
        f.sendall(b"unread")
        arrived(s, 6)
    to_the_kernel(s)
    if how == "cork":
        s.setsockopt(TCP, socket.TCP_CORK, 0)
        say(how, f.take(3))
    if how == "window":
        say(how, f.skip(n) == n)
    if how == "reading":
        say(how, take(s, 6))
    swap_bytes(s, f)
    s.close()
    say(how, f.to_end())
    f.close()
far.forget()
