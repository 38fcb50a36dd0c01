# SPDX-License-Identifier: BSD-2-Clause
"""tcp_close.py OWN PEER FAR: how connections end, in every order."""
import signal
import subprocess

from tcplib import *

own, peer, far = start()
signal.signal(signal.SIGPIPE, signal.SIG_IGN)
RD, WR, RDWR = socket.SHUT_RD, socket.SHUT_WR, socket.SHUT_RDWR


def on_the_wire():
    """A veth has put a segment into its receiver by the time that send(2) returns, a NIC has not."""
    if os.environ.get("SLUICE_RX_BACKEND") == "verbs":
        time.sleep(0.03)


def half_close(s, f):
    say("SHUT_WR", attempt(s.shutdown, WR), becomes(s, "FIN_WAIT2"), f.becomes("CLOSE_WAIT"))
    say("the peer reads the end", f.to_end(), "and writes", f.send(b"still here"), s.recv(100))
    say("send", attempt(s.send, b"x"), attempt(os.write, s.fileno(), b"x"), polled(s))
    say("again", attempt(s.shutdown, WR), state(s))
    f.send(b"last")
    say("then it closes", f.close(), to_end(s), state(s), polled(s))
    say("recv", attempt(s.recv, 1), attempt(s.shutdown, WR), attempt(s.shutdown, RDWR))


def half_closed(s, f):
    f.shutdown(WR)
    say("it came", becomes(s, "CLOSE_WAIT"), settles(s, "RDHUP"), attempt(s.recv, 1), attempt(s.recv, 1))
    say("still sends", s.send(b"abc"), f.recv(10))
    say("SHUT_WR", attempt(s.shutdown, WR), f.to_end(), becomes(s, "CLOSE"), polled(s))


def shut_read(s, f):
    say("SHUT_RD", attempt(s.shutdown, RD), state(s), polled(s), attempt(s.recv, 10))
    say("sends", s.send(b"x"), f.recv(10))
    f.send(b"nevertheless")
    arrived(s, 12)
    say("what comes later", attempt(s.recv, 100), attempt(s.recv, 100))
    say("and SHUT_WR", attempt(s.shutdown, WR), polled(s), f.to_end())


def shut_both(s, f):
    say("SHUT_RDWR", attempt(s.shutdown, RDWR), polled(s), attempt(s.recv, 1), attempt(s.send, b"x"))
    say("the peer", f.to_end(), becomes(s, "FIN_WAIT2"))


def both_at_once(s, f):
    s.shutdown(WR)
    f.shutdown(WR)
    say("both", to_end(s), f.to_end(), becomes(s, "CLOSE"))


def peer_closes(s, f):
    f.send(b"bye")
    f.close()
    say("data, then the end", to_end(s), state(s), polled(s))
    say("first send", attempt(s.send, b"x"), settles(s, "ERR|HUP"))
    say("EPIPE", attempt(s.recv, 1), attempt(s.send, b"x"), so_error(s), attempt(s.recv, 1))


def sent_to_closed(s, f):
    f.close()
    becomes(s, "CLOSE_WAIT")
    s.send(b"x")
    settles(s, "ERR|HUP")
    say("send", attempt(s.send, b"x"), attempt(s.send, b"x"), so_error(s))


def peer_resets(s, f):
    f.close_reset()
    say("reset", settles(s, "ERR|HUP"), attempt(s.recv, 1), attempt(s.recv, 1), polled(s), state(s))
    say("then", attempt(s.send, b"x"), attempt(s.getpeername), attempt(s.shutdown, RDWR))


def reset_is_known(s, f):
    f.close_reset()
    on_the_wire()
    say("getpeername at once", attempt(s.getpeername))


def reset_is_told(s, f):
    f.close_reset()
    on_the_wire()
    say("SO_ERROR at once", so_error(s))


def end_is_known(s, f):
    f.close()
    on_the_wire()
    say("TCP_INFO at once", state(s))


def data_then_reset(s, f):
    f.send(b"words")
    arrived(s, 5)
    f.close_reset()
    say("the data are there", settles(s, "ERR|HUP"), attempt(s.recv, 10), attempt(s.recv, 10),
        attempt(s.recv, 10))


def reset_in_send(s, f):
    f.close_reset()
    settles(s, "ERR")
    say("send", attempt(s.send, b"x"), attempt(s.send, b"x"), attempt(s.recv, 1))


def reset_while_waiting(s, f):
    later = threading.Timer(0.1, f.close_reset)
    later.start()
    say("recv waits", attempt(s.recv, 1))
    later.join()


def reset_while_sending(s, f):
    later = threading.Timer(0.15, f.close_reset)
    later.start()
    say("send waits", attempt(s.sendall, bytes(20000000)))
    later.join()


def unread(s, f):
    f.send(b"unread")
    arrived(s, 6)
    s.close()
    say("close with unread data", f.settles("ERR|HUP"), attempt(f.recv, 1))


def partly_unread(s, f):
    s.send(b"answer")
    f.send(b"question")
    arrived(s, 8)
    s.recv(3)
    s.close()
    say("close with some unread", f.settles("ERR|HUP"), attempt(f.recv, 10), attempt(f.recv, 10))


def comes_after_close(s, f):
    s.close()
    say("the end", f.to_end(), f.send(b"too late"), f.settles("ERR|HUP"), attempt(f.send, b"x"))


def linger_zero(s, f):
    s.send(b"lost?")
    f.arrived(5)
    close_reset(s)
    say("SO_LINGER 0", f.settles("ERR|HUP"), attempt(f.recv, 10), attempt(f.recv, 10))


def linger_some(s, f):
    linger(s, 1, 5)
    s.send(pattern(1, 0, 50000))
    later = far.later(f, "drain", 1, 50000)
    begun = time.monotonic()
    s.close()
    say("SO_LINGER 5", later(), f.to_end(), time.monotonic() - begun < 4)


def linger_in_vain(s, f):
    """The peer does not read: close() returns when SO_LINGER's time is over."""
    linger(s, 1, 1)
    sent = fill(s)
    s.setblocking(True)
    begun = time.monotonic()
    s.close()
    say("SO_LINGER 1 in vain", 0.7 < time.monotonic() - begun < 8)
    n, how = f.to_end()
    say("but all comes in the end", n == sent, how)


def linger_signal(s, f):
    """A signal handler ends close()'s waiting, and close() has no error."""
    linger(s, 1, 8)
    fill(s)
    s.setblocking(True)
    signal.signal(signal.SIGALRM, lambda *_: None)
    signal.setitimer(signal.ITIMER_REAL, 0.3)
    begun = time.monotonic()
    s.close()
    say("SO_LINGER 8 and a signal", time.monotonic() - begun < 4)
    f.to_end()


def in_flight(s, f):
    data = pattern(3, 0, 150000)
    later = far.later(f, "drain", 3, len(data), 0.002)
    s.sendall(data)
    s.close()
    say("closed in flight", later(), f.to_end())


def slow_reader(s, f):
    sent = fill(s)
    s.close()
    time.sleep(0.1)
    n, how = f.to_end()
    say("closed with all full", n == sent, how)


def duplicate(s, f):
    d = s.dup()
    s.close()
    say("one of two closed", d.send(b"x"), f.recv(1), polled(d))
    d.close()
    say("the other", f.to_end())


def simply(s, f):
    s.close()
    say("close", f.settles("RDHUP"), f.to_end(), f.close())


PARTS = [half_close, half_closed, shut_read, shut_both, both_at_once, peer_closes, sent_to_closed,
         peer_resets, reset_is_known, reset_is_told, end_is_known, data_then_reset, reset_in_send,
         reset_while_waiting, reset_while_sending, unread, partly_unread, comes_after_close, linger_zero,
         linger_some, in_flight, slow_reader, duplicate, simply]


def child(what):
    """Starts another program, which is preloaded as this one is."""
    code = f"import sys; sys.argv = ['-', {own!r}, {peer!r}, {sys.argv[3]!r}]\n" \
           f"from tcplib import *\n" \
           f"s = tcp(six={is6(own)}); s.connect(({peer!r}, 7001))\n" + what
    return subprocess.Popen([sys.executable, "-c", code], env=dict(os.environ, PYTHONPATH=sys.path[0]))


for port, make in ((7000, pair), (7002, accepted)):
    say("active" if make is pair else "passive")
    for part in PARTS + ([linger_in_vain, linger_signal] if make is pair else []):
        try:
            s, f = make(own, peer, far, port)
            part(s, f)
        except OSError as e:
            say(part.__name__, "failed:", e)
        s.close()
        f.close()

# The end of a program.
fl = far.tcp(peer, 7001, 5)
p = child("s.sendall(pattern(5, 0, 300000))\n")
f, _ = fl.accept()
say("exit with data in flight", f.drain(5, 300000, 0.001), f.to_end(), p.wait())
p = child("pour(s, 6, 200000); s.close()\n")
f, _ = fl.accept()
say("exit after close", f.drain(6, 200000, 0.001), f.to_end(), p.wait())
p = child("s.recv(1); arrived(s, 5); os._exit(0)\n")
f, _ = fl.accept()
f.send(b"123456")
say("exit with unread data", f.settles("ERR|HUP"), attempt(f.recv, 1), p.wait())
p = child("s.send(b'ready'); signal.pause()\n")
f, _ = fl.accept()
f.take(5)
p.kill()
say("killed", p.wait(), f.to_end()[0])
f.close()
p = child("signal.signal(signal.SIGPIPE, signal.SIG_DFL)\ns.shutdown(1)\n"
          "try: s.send(b'x', socket.MSG_NOSIGNAL)\nexcept BrokenPipeError: print('EPIPE only', flush=True)\n"
          "s.send(b'x')\nprint('still here')\n")
f, _ = fl.accept()
say("SIGPIPE", p.wait() == -signal.SIGPIPE)
for how in ("os.write(s.fileno(), b'x')", "os.writev(s.fileno(), [b'x'])", "s.sendmsg([b'x'])"):
    p = child(f"signal.signal(signal.SIGPIPE, signal.SIG_DFL)\ns.shutdown(1)\n{how}\n")
    f, _ = fl.accept()
    say("SIGPIPE", p.wait() == -signal.SIGPIPE)

# A message of too many pieces fails before anything else is checked.
s, f = pair(own, peer, far, 7003)
many = ctypes.create_string_buffer(struct.pack("QQ", 0, 0) * 1025)
msg = struct.pack("QQQQQQi", 0, 0, ctypes.addressof(many), 1025, 0, 0, 0) + bytes(4)
s.shutdown(WR)
say("1025 pieces", raw("sendmsg", s.fileno(), msg, 0), raw("recvmsg", s.fileno(), ctypes.create_string_buffer(msg), 0x40))
s.close()
f.close()

# recvmmsg() returns an error before there is anything to read, even the end; an error that it finds after messages
# is returned by the next call.
def recvmmsg(s, n, flags=0x40):
    bufs = ctypes.create_string_buffer(100 * n)
    iovs = ctypes.create_string_buffer(b"".join(struct.pack("QQ", ctypes.addressof(bufs) + 100 * i, 4) for i in range(n)))
    msgs = ctypes.create_string_buffer(b"".join(struct.pack("QQQQQQQQ", 0, 0, ctypes.addressof(iovs) + 16 * i, 1, 0, 0, 0, 0)
                                                for i in range(n)))
    return raw("recvmmsg", s.fileno(), msgs, n, flags, None)


s, f = pair(own, peer, far, 7003)
f.close()
settles(s, "RDHUP")
s.send(b"x")
settles(s, "HUP|ERR")
say("recvmmsg", recvmmsg(s, 3), recvmmsg(s, 3), so_error(s))
s.close()
for call in (lambda: recvmmsg(s, 3), lambda: attempt(s.recv, 1), lambda: so_error(s), lambda: attempt(s.send, b"x")):
    s, f = pair(own, peer, far, 7003)
    f.send(b"abcdefgh")
    arrived(s, 8)
    say("recvmmsg", recvmmsg(s, 1))
    f.close_reset()
    settles(s, "ERR")
    say("reset", recvmmsg(s, 3), polled(s), call(), recvmmsg(s, 3))
    s.close()
s, f = pair(own, peer, far, 7003)
f.send(b"abcd")
arrived(s, 4)
t = threading.Timer(0.1, f.close_reset)
t.start()
say("reset after one", recvmmsg(s, 3, 0), polled(s), attempt(s.recv, 1), attempt(s.recv, 1))
t.join()
s.close()

# Not connected.
s = tcp(six=is6(own))
say("unconnected", attempt(s.shutdown, RD), attempt(s.shutdown, WR), attempt(s.shutdown, RDWR))
# A direction that was shut stays shut in the next connection; the next peer gets a FIN only when it is shut again.
say("stays", polled(s), attempt(s.recv, 1), attempt(s.send, b"x"))
say("then", attempt(s.connect, (peer, 7001)), attempt(s.send, b"x"), polled(s), attempt(s.recv, 1), state(s))
f, _ = fl.accept()
say("the peer knows nothing", attempt(f.recv, 1, socket.MSG_DONTWAIT), f.send(b"abc"), arrived(s, 3), s.recv(10))
say("again", attempt(s.shutdown, WR), f.to_end(), becomes(s, "FIN_WAIT2"))
f.close()
s.close()
for how in (RD, WR, RDWR):
    s = tcp(six=is6(own))
    say("shut", how, attempt(s.shutdown, how), polled(s))
    s.setblocking(False)
    attempt(s.connect, (peer, 7001))
    f, _ = fl.accept()
    say("connected", settles(s, "OUT"), attempt(s.send, b"x"), attempt(s.recv, 1))
    say("dissolved", disconnect(s), polled(s), attempt(s.recv, 1))
    s.setblocking(True)
    say("open again", attempt(s.connect, (peer, 7001)), s.send(b"x"), polled(s))
    f.close()
    s.close()
    fl.accept()[0].close()
    s = tcp(six=is6(own))
    attempt(s.shutdown, how)
    say("opened", disconnect(s), polled(s))
    say("refused opens", attempt(s.connect, (peer, 7098)), polled(s))
    s.close()
s = tcp(six=is6(own))
say("bad", raw("shutdown", s.fileno(), 7), raw("shutdown", 999, 0), raw("shutdown", 0, 0))
s.close()
say("closed", raw("close", 999))
say("done")
