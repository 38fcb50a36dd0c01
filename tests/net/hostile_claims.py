# SPDX-License-Identifier: BSD-2-Clause
# A user claims many ports while the host has very many connections. Usage: as hostile.py.
import resource
import hostile
from hostile import *

PAIRS = 3000
CLAIMS = 40


def fill():
    """Connections of this host with itself, in a process that holds them."""
    r, w = os.pipe()
    if os.fork():
        os.read(r, 1)
        return
    resource.setrlimit(resource.RLIMIT_NOFILE, [3 * PAIRS] * 2)
    keep, to = [], socket.socket()
    to.bind(("127.0.0.1", 0))
    to.listen(64)
    for i in range(PAIRS):
        keep.append(socket.create_connection(to.getsockname(), source_address=(f"127.0.1.{i // 1000 + 1}", 0)))
        keep.append(to.accept()[0])
    os.write(w, b"x")
    time.sleep(60)


fill()
with As(ATTACKER):
    others = [tcp(ATTACKER, OWN[4], fresh(), listen=True) for _ in range(CLAIMS)]
given = [session.claim(m, m.getsockname()) for m in others]
check("claims of listeners are given", all(given), session.why)
port = fresh()
v = tcp(VICTIM, OWN[4], port, listen=True)
c = connects(4, port)
with As(VICTIM):
    v.setblocking(True)
    conn = v.accept()[0]
v.close()
m = tcp(ATTACKER, OWN[4], port, listen=True)
check("one of a port where another user has a connection is refused", not session.claim(m, (OWN[4], port)), session.why)
m = udp(ATTACKER, OWN[4], fresh())
check("and one by UDP is given", session.claim(m, m.getsockname()), session.why)
sys.exit(hostile.failed != 0)
