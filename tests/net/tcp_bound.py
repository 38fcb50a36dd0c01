# SPDX-License-Identifier: BSD-2-Clause
"""tcp_bound.py OWN PEER CONTROL: what bind(2) says while connections of a listener that is closed, or their TIME_WAITs,
have the port; and of the port of a client's TIME_WAIT."""
from tcplib import *

own, peer, far = sys.argv[1], sys.argv[2], Far(sys.argv[3])
ANY = "::" if is6(own) else "0.0.0.0"
REUSE = {"": [], "a": [socket.SO_REUSEADDR], "p": [socket.SO_REUSEPORT],
         "ap": [socket.SO_REUSEADDR, socket.SO_REUSEPORT]}


def new(how, six=is6(own)):
    s = socket.socket(socket.AF_INET6 if six else socket.AF_INET)
    for name in REUSE[how]:
        s.setsockopt(SOL, name, 1)
    return s


def bind(how, addr, port):
    with new(how, is6(addr)) as s:
        got = attempt(s.bind, (addr, port))
        return got if got else attempt(s.listen)


def tries(what, how, port):
    for again in "", "a", "p":  # (with both the kernel answers by what it remembers of sockets before)
        say(what, "first", how, "then", again, *[bind(again, a, port) for a in (own, ANY, loopback(6 if is6(own) else 4),
                                                                               "::", "0.0.0.0")])


def pair(how, addr=own):
    ls = new(how)
    ls.bind((addr, 0))
    ls.listen()
    f = far.tcp(six=is6(own))
    f.connect((own, ls.getsockname()[1]))
    s, _ = ls.accept()
    port = ls.getsockname()[1]
    ls.close()
    return f, s, port


def swap_bytes(f, s):
    s.sendall(b"x" * 100)
    assert len(f.take(100)) == 100


def both_close(s, f):
    """This side first, which has TIME_WAIT then."""
    s.close()
    f.recv(1)
    f.close()


for how in REUSE:
    f, s, port = pair(how)
    swap_bytes(f, s)
    tries("open", how, port)
    s.shutdown(socket.SHUT_WR)
    becomes(s, "FIN_WAIT2")
    tries("half open", how, port)
    s.close()
    tries("orphan", how, port)
    f.close()
    time.sleep(0.05)
    tries("TIME_WAIT", how, port)

f, s, port = pair("")
s.setsockopt(SOL, socket.SO_REUSEADDR, 1)
both_close(s, f)
time.sleep(0.05)
tries("set later", "", port)

f, s, port = pair("a")
s.setsockopt(SOL, socket.SO_REUSEADDR, 0)
both_close(s, f)
time.sleep(0.05)
tries("taken back", "a", port)

f, s, port = pair("")  # the peer ends it
f.close()
s.recv(1)
s.close()
time.sleep(0.05)
tries("no TIME_WAIT", "", port)

f, s, port = pair("", ANY)
both_close(s, f)
time.sleep(0.05)
tries("a wildcard's", "", port)

f, s, port = pair("")
s.setsockopt(SOL, socket.SO_LINGER, struct.pack("ii", 1, 0))
s.close()
tries("reset", "", port)

fl = far.tcp(peer, 0, 5)
for how in "", "a":
    s = new(how)
    s.connect(fl.getsockname())
    f, _ = fl.accept()
    port = s.getsockname()[1]
    tries("client", how, port)
    both_close(s, f)
    time.sleep(0.05)
    tries("client's TIME_WAIT", how, port)

# The family of a name is judged first.
f, s, port = pair("a")
other = socket.socket(socket.AF_INET if is6(own) else socket.AF_INET6, socket.SOCK_STREAM)
name = sockaddr(own, port)
say("the other family's", raw("bind", other.fileno(), name, len(name)))
other.close()
both_close(s, f)
far.forget()
