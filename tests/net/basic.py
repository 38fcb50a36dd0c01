# SPDX-License-Identifier: BSD-2-Clause
"""basic.py OWN PEER PORT: the usual calls of a UDP socket. A reflector is at PEER PORT."""
import array
import fcntl
import signal
import termios
import time

from netlib import *

own, peer, port = sys.argv[1], sys.argv[2], int(sys.argv[3])
to = (peer, port)

s = udp(own)
say("type", s.getsockopt(socket.SOL_SOCKET, socket.SO_TYPE), "address", s.getsockname()[0],
    "port given", s.getsockname()[1] > 0)
say("peer of none", attempt(s.getpeername))

for size in (1, 64, 1000, 1400, 1452 if is6(peer) else 1472):
    s.sendto(b"e" * size, to)
    data, sender = s.recvfrom(65536)
    say("echo", size, len(data), data == b"e" * size, sender[:2])

s.sendto(b"", to)
say("empty", s.recvfrom(100)[0])

d = ask(s, to)
say("seen by the peer:", d["from"], d["len"], d["dst"])

# Looking first, and buffers that are too small.
s.sendto(b"0123456789", to)
say("peek", s.recv(4, socket.MSG_PEEK), s.recv(100, socket.MSG_PEEK))
data, _, flags, _ = s.recvmsg(4)
say("cut", data, "MSG_TRUNC" if flags & socket.MSG_TRUNC else flags)
s.sendto(b"0123456789", to)
buf = bytearray(4)
say("true length", s.recv_into(buf, 4, socket.MSG_TRUNC), bytes(buf))
say("then nothing", nothing_comes(s))

# Many buffers in one call.
s.sendmsg([b"ab", b"", b"cde", b"f" * 500], [], 0, to)
parts = [bytearray(3), bytearray(1), bytearray(1000)]
n, _, _, sender = s.recvmsg_into(parts)
say("scattered", n, bytes(parts[0]), bytes(parts[1]), parts[2][:n - 4].count(b"f"), sender[:2])

# Without waiting.
s.settimeout(None)  # (with a timeout Python would call poll() first)
say("nothing there", attempt(s.recv, 100, socket.MSG_DONTWAIT))
s.setblocking(False)
say("non-blocking", attempt(s.recv, 100))
s.sendto(b"ready?", to)
say("select", [len(x) for x in select.select([s], [s], [s], TIMEOUT)][1:])
select.select([s], [], [], TIMEOUT)
waiting = array.array("i", [0])
fcntl.ioctl(s, termios.FIONREAD, waiting)
say("FIONREAD", waiting[0], s.recv(100))
p = select.poll()
p.register(s, select.POLLIN | select.POLLOUT)
say("poll", [e for _, e in p.poll(100)])
s.settimeout(TIMEOUT)

s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("qq", 0, 100000))
fd = s.detach()
os.set_blocking(fd, True)
try:
    os.read(fd, 10)
    say("read without data came back")
except OSError as e:
    say("SO_RCVTIMEO", name_of(e.errno))
s = socket.socket(fileno=fd)
s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("qq", 0, 100))
tick = struct.unpack("qq", s.getsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, 16))[1]
begun = time.monotonic()
for _ in range(10):
    attempt(os.read, fd, 10)
say("less than a tick", tick, time.monotonic() - begun >= 9 * tick / 1e6)
for name in (socket.SO_RCVTIMEO, socket.SO_SNDTIMEO):
    for sec, usec in ((0, 1000000), (0, -1), (-1, -1), (1 << 40, 0), (-5, 0), (-1 << 62, 5)):
        say("time-out", sec, usec, attempt(s.setsockopt, socket.SOL_SOCKET, name, struct.pack("qq", sec, usec)),
            struct.unpack("qq", s.getsockopt(socket.SOL_SOCKET, name, 16)))
signal.alarm(5)  # (a call that waits then would wait without end)
say("less than nothing", attempt(os.read, fd, 10), attempt(s.recvmsg, 10), attempt(s.sendto, b"sent", to))
s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("qq", 10, 0))
say("an answer", s.recv(10))
signal.alarm(0)
s.settimeout(None)

# Connected: read and write, and a duplicate.
s.connect(to)
say("connected to", s.getpeername()[:2])
os.write(s.fileno(), b"written")
say("read", os.read(s.fileno(), 100))
os.writev(s.fileno(), [b"wri", b"tten"])
b1, b2 = bytearray(2), bytearray(50)
n = os.readv(s.fileno(), [b1, b2])
say("readv", n, bytes(b1), bytes(b2[:n - 2]))
s.send(b"by position")
wait_in = select.poll()
wait_in.register(s, select.POLLIN)
wait_in.poll(5000)
if tuple(map(int, os.uname().release.split(".")[:2])) < (6, 5):  # the kernel's sockets do not know RWF_NOWAIT
    os.readv(s.fileno(), [b1, b2])
else:
    say("preadv2", os.preadv(s.fileno(), [b1, b2], -1, os.RWF_NOWAIT), bytes(b1), bytes(b2[:9]),
        attempt(os.preadv, s.fileno(), [b1], -1, os.RWF_NOWAIT), attempt(os.preadv, s.fileno(), [b1], 0))
say("pwritev2", os.pwritev(s.fileno(), [b"a", b"bc"], -1, 0), s.recv(10), attempt(os.pwritev, s.fileno(), [b"x"], 0))
t = s.dup()
s.close()
t.send(b"by the duplicate")
say("duplicate", t.recv(100), attempt(s.recv, 1))
say("too long", attempt(t.send, b"x" * 65536))
say("shut down", attempt(t.shutdown, socket.SHUT_WR), attempt(t.send, b"x"))
t.close()

# A closed port is free again, with nothing left over for the next owner.
s = udp(own, 7001)
s.sendto(question(count=3), to)
s.close()
s = udp(own, 7001)
say("rebound", s.getsockname()[1])
s.close()
say("done")
