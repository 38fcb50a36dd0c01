# SPDX-License-Identifier: BSD-2-Clause
"""tcp_again.py OWN PEER FAR: sockets and ports used once more: a socket whose connection has ended, and a port in
TIME_WAIT."""
from tcplib import *

own, peer, far = start()
listener = far.tcp(peer, 7000, 50)
home = tcp(loopback(6 if is6(own) else 4), 7050, 50)
six = is6(own)


def works(s, f):
    return s.send(b"abc"), f.recv(3), f.send(b"de"), s.recv(2), so_error(s)


# The error that a dissolved connection leaves is reported once, or is forgotten when the next connection begins, be
# that
# the kernel's or Sluice's. A connect() that fails before it begins forgets nothing.
for first in (lambda s: None, lambda s: raw("connect", s.fileno(), sockaddr(peer, 7000), 4),
              lambda s: raw_connect(s, "::1" if not six else "2001:db8::1", 7000)):
    for to, at in ((home.getsockname(), home), ((peer, 7000), listener)):
        s = tcp(six=six)
        s.connect((peer, 7000))
        listener.accept()[0].close()
        say("dissolved", disconnect(s), polled(s), first(s), raw_connect(s, to[0], to[1]), polled(s),
            attempt(s.recv, 1, socket.MSG_DONTWAIT))
        f, _ = at.accept()
        say("works", works(s, f))
        s.close()
        f.close()
s = tcp(six=six)
s.connect((peer, 7000))
listener.accept()[0].close()
say("cannot begin", disconnect(s), raw("connect", s.fileno(), sockaddr(peer, 7000), 4), so_error(s), so_error(s))
s.close()
s = tcp(six=six)
s.connect((peer, 7000))
listener.accept()[0].close()
say("refused at home", disconnect(s), raw_connect(s, home.getsockname()[0], 7051), so_error(s))
s.close()


# A port that the program has chosen is not lost for a minute with each connection to the same peer.
def from_port(port):
    s = tcp(own, port)
    return s, raw_connect(s, peer, 7000)


def ends(s, f):
    """Ends a connection in order, so that TIME_WAIT is on this side."""
    s.shutdown(socket.SHUT_WR)
    got = f.to_end()
    f.close()
    return got, s.recv(1), becomes(s, "CLOSE")


s, said = from_port(7100)
f, _ = listener.accept()
say("from a port", said, works(s, f), ends(s, f))
for how in ("the first is open still", "all are closed"):
    t, said = from_port(7100)
    say(how, said, t.getsockname()[1] if said == 0 else None)
    f, name = listener.accept()
    say("the same", name[1], works(t, f), ends(t, f))
    t.close()
    s.close()
s, said = from_port(7100)
f, _ = listener.accept()
say("once more", said, works(s, f))
t = tcp(own, 7100)
say("but not two", raw_connect(t, peer, 7000), works(s, f), ends(s, f))
t.close()
say("the same socket", disconnect(s), raw_connect(s, peer, 7000))
f, _ = listener.accept()
say("works", works(s, f), f.close(), s.recv(1))
s.close()
f, s = None, tcp(six=six)
s.connect((peer, 7000))
for i in range(3):
    f, _ = listener.accept()
    say("any port", works(s, f), ends(s, f), disconnect(s), raw_connect(s, peer, 7000))
s.close()
# A port that the kernel chose for bind() ends with its connection, too; a port that the program chose stays.
for port in (0, 7110):
    for host in (own, "::" if six else "0.0.0.0"):
        s = tcp(host, port)
        say("bound twice", attempt(s.bind, (own, 7111)), raw_connect(s, peer, 7052), attempt(s.bind, (own, 7111)),
            s.getsockname()[1] == (port or 7111), raw_connect(s, peer, 7052))
        s.close()
# A port that the program chose is free as soon as a socket is closed whose connection was refused.
answers = []
for i in range(20):
    with socket.socket(socket.AF_INET6 if six else socket.AF_INET) as s:
        s.settimeout(30)
        answers.append((attempt(s.bind, ("", 7120)), attempt(s.connect, (peer, 7052))))
say("free again", answers)
# So it is after a connection that the peer closed first, once the last segment is acknowledged.
answers = []
for i in range(3):
    with socket.socket(socket.AF_INET6 if six else socket.AF_INET) as s:
        answers.append((attempt(s.bind, ("", 7121)), attempt(s.connect, (peer, 7053)), s.recv(1)))
    time.sleep(0.1)
say("free after the peer's FIN", answers)
say("done")
