# SPDX-License-Identifier: BSD-2-Clause
"""tcp_time.py OWN PEER FAR DEVICE: time-outs and signals of calls, keepalive, user timeout."""
import subprocess

from tcplib import *

own, peer, far = start()
signal.signal(signal.SIGALRM, lambda *a: None)


def neighbour(what, addr, *args):
    subprocess.run(["ip", "neigh", what, addr, *args, "dev", sys.argv[4]], check=True,
                   env={"PATH": os.environ["PATH"]})


def timed(least, call, *args):
    begun = time.monotonic()
    return attempt(call, *args), time.monotonic() - begun >= least


def timeo(s, name, seconds):
    s.setsockopt(SOL, name, struct.pack("qq", int(seconds), int(seconds % 1 * 1e6)))


def receiving(s, f):
    buf = ctypes.create_string_buffer(10)
    timeo(s, socket.SO_RCVTIMEO, 0.1)
    say("SO_RCVTIMEO", timed(0.09, s.recv, 1), timed(0.09, os.read, s.fileno(), 1),
        timed(0.09, s.recvmsg, 1), timed(0.09, s.recv, 1, socket.MSG_PEEK))
    timeo(s, socket.SO_RCVTIMEO, 0.0001)
    tick = struct.unpack("qq", s.getsockopt(SOL, socket.SO_RCVTIMEO, 16))[1]
    say("less than a tick", tick, timed(9 * tick / 1e6, lambda: [attempt(s.recv, 1) for _ in range(10)]))
    timeo(s, socket.SO_RCVTIMEO, 0.1)
    f.send(b"abc")
    arrived(s, 3)
    say("with data", attempt(s.recv, 10))
    f.send(b"abc")
    arrived(s, 3)
    say("MSG_WAITALL", timed(0.09, s.recv, 10, socket.MSG_WAITALL))
    timeo(s, socket.SO_RCVTIMEO, -1)
    say("less than nothing", raw("recv", s.fileno(), buf, 10, 0), attempt(os.read, s.fileno(), 1))
    timeo(s, socket.SO_RCVTIMEO, 1 << 40)
    signal.setitimer(signal.ITIMER_REAL, 0.1)
    say("for ever", raw("recv", s.fileno(), buf, 10, 0))
    timeo(s, socket.SO_RCVTIMEO, 0)
    signal.setitimer(signal.ITIMER_REAL, 0.1)
    say("signal", raw("recv", s.fileno(), buf, 10, 0))
    f.send(b"abc")
    arrived(s, 3)
    signal.setitimer(signal.ITIMER_REAL, 0.1)
    say("signal after some", raw("recv", s.fileno(), buf, 10, socket.MSG_WAITALL))


def window(s):
    """The peer's window, by TCP_INFO."""
    return struct.unpack_from("I", s.getsockopt(TCP, socket.TCP_INFO, 232), 228)[0]


def sending(s, f):
    # Less than a segment's window is left, perhaps, for the persist timer: when that is used up, too,
    # not a byte has room any more.
    sent = fill(s)
    say("no window", bool(wait_for(lambda: window(s) == 0)))
    sent += fill(s)
    s.setblocking(True)
    timeo(s, socket.SO_SNDTIMEO, 0.1)
    say("SO_SNDTIMEO", timed(0.09, s.send, b"x"), timed(0.09, s.send, bytes(100000)),
        timed(0.09, os.write, s.fileno(), b"x"), timed(0.09, s.sendmsg, [b"x", b"y"]))
    timeo(s, socket.SO_SNDTIMEO, -1)
    say("less than nothing", raw("send", s.fileno(), b"x", 1, 0))
    timeo(s, socket.SO_SNDTIMEO, 0)
    signal.setitimer(signal.ITIMER_REAL, 0.1)
    say("signal", raw("send", s.fileno(), b"x", 1, 0))
    later = far.later(f, "take", sent)
    say("room", len(later()) == sent)
    timeo(s, socket.SO_SNDTIMEO, 0.3)
    n = raw("send", s.fileno(), bytes(30000000), 30000000, 0)
    say("a part", 0 < n < 30000000)
    s.setblocking(False)
    later = far.later(f, "take", n)
    say("arrives", len(later()) == n)


for name, s, f in both_ways(own, peer, far, 7000):
    say(name)
    (receiving if name == "active" else sending)(s, f)
    s.close()
    f.close()

# Keepalive leaves a living connection alone.
s, f = pair(own, peer, far, 7001)
for option, value in ((socket.TCP_KEEPIDLE, 1), (socket.TCP_KEEPINTVL, 1), (socket.TCP_KEEPCNT, 2)):
    s.setsockopt(TCP, option, value)
s.setsockopt(SOL, socket.SO_KEEPALIVE, 1)
dead, _ = pair(own, peer, far, 7001)
for option, value in ((socket.TCP_KEEPIDLE, 1), (socket.TCP_KEEPINTVL, 1), (socket.TCP_KEEPCNT, 1)):
    dead.setsockopt(TCP, option, value)
cut = [pair(own, peer, far, 7001) for _ in range(3)]
stale, late, told = (c for c, _ in cut)
for c in (stale, late, told):
    c.setsockopt(TCP, socket.TCP_USER_TIMEOUT, 500)
time.sleep(1.3)
say("keepalive", state(s), polled(s), s.send(b"x"), f.recv(1))
# From here on no packet arrives: the peer's link-layer address is one that no host has.
neighbour("replace", peer, "lladdr", "02:00:00:00:00:99", "nud", "permanent")
dead.setsockopt(SOL, socket.SO_KEEPALIVE, 1)
for i in range(3):  # (the first may still arrive, until the mirror of the neighbours has changed)
    for c in (stale, late, told):
        c.send(b"to nobody")
    time.sleep(0.1)
say("TCP_USER_TIMEOUT", settles(stale, "ERR", 15), attempt(stale.recv, 1), state(stale), attempt(stale.send, b"x"))
say("send after it", settles(late, "ERR", 15), attempt(late.send, b"x"), attempt(late.send, b"x"), attempt(late.recv, 1))
say("SO_ERROR after it", settles(told, "ERR", 15), told.getsockopt(SOL, socket.SO_ERROR), attempt(told.send, b"x"))
say("keepalive without an answer", settles(dead, "ERR", 15), attempt(dead.recv, 1), state(dead))
neighbour("del", peer)
say("done")
