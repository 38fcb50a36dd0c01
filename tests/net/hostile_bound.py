# SPDX-License-Identifier: BSD-2-Clause
# A user claims the flows of connections that the next user of a port is going to have, and keeps the socket that proved
# them, which has SO_REUSEADDR and does not listen: the kernel lets another user have the port beside it. That user's
# connections are as by the kernel, but for a lost SYN. Usage: as hostile.py.
import hostile
from hostile import *
import hostile_ports
from hostile_ports import connect, on_wire

hostile_ports.SYNS = 7.6  # (the fourth SYN: on a busy machine the daemon looks more rarely)


def kept(fam, port, peers, addr=None):
    m = tcp(ATTACKER, addr or OWN[fam], port)
    return m, [session.claim(m, (OWN[fam], port), (PEER[fam], p)) for p in peers].count(True)


def accepts():
    for fam, addr in (4, ANY[4]), (6, OWN[6]):
        port, sources = fresh(), [fresh() for _ in range(3)]
        m, n = kept(fam, port, sources, addr)
        v = tcp(VICTIM, OWN[fam], port, listen=True)
        time.sleep(1)
        took = on_wire(fam, sources[1], to=(OWN[fam], port))
        check(f"a server of another user accepts (IPv{fam})", n == 3 and took is not None, f"({took} s, {n} claims)")
        for x in v, m:
            x.close()
    session.close()


def connects_out():
    there, port = on_wire(4, 4433, listen=True), fresh()
    m, n = kept(4, port, [4433])
    took = connect(tcp(VICTIM, OWN[4], port), (PEER[4], 4433))
    check("a client of another user connects", n == 1 and took is not None, f"({took} s)")
    there.close()
    m.close()
    session.close()


if __name__ == "__main__":
    accepts()
    connects_out()
    sys.exit(hostile.failed != 0)
