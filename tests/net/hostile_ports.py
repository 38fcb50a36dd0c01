# SPDX-License-Identifier: BSD-2-Clause
# A user claims the flows of connections that the next user of a port is going to have, and closes the socket that proved
# them: a connection of the next user's, to the peer or from there, is as by the kernel but for a lost SYN; a lone claim,
# as a connection leaves that is closed, stays while another user listens on the port. Usage: as hostile.py.
import hostile
from hostile import *

SYNS = 3.6  # seconds: the third SYN (the daemon looks four times a second, and needs two looks)


def on_wire(fam, port, listen=None, to=None):
    """A socket of the peer: that listens, or the seconds after which it is connected (None: not at all)."""
    def go():
        s = socket.socket(AF[fam], socket.SOCK_STREAM)
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        s.bind((PEER[fam], port))
        if listen:
            s.listen(16)
            return s
        return connect(s, to)
    return on_peer(go)


def connect(s, to):
    start = time.monotonic()
    s.settimeout(SYNS)
    try:
        s.connect(to)
        return time.monotonic() - start
    except OSError:
        return None
    finally:
        s.close()


def squat(fam, port, peers):
    m = tcp(ATTACKER, OWN[fam], port)
    given = [session.claim(m, (OWN[fam], port), (PEER[fam], p)) for p in peers]
    m.close()
    return given.count(True)


def victims():
    there, port = on_wire(4, 4433, listen=True), fresh()
    n = squat(4, port, [4433])
    took = connect(tcp(VICTIM, OWN[4], port, reuse=False), (PEER[4], 4433))
    check("the port's next user connects", n == 1 and took is not None, f"({took} s)")
    there.close()

    port, sources = fresh(), [fresh() for _ in range(24)]
    n = squat(6, port, sources)
    v = tcp(VICTIM, OWN[6], port, listen=True)
    took = on_wire(6, sources[7], to=(OWN[6], port))
    check("the port's next user accepts", n == 24 and took is not None, f"({took} s)")
    v.close()
    session.close()


def closed():
    """(What comes by the claim does not come to the kernel, which would reset a segment without a connection.)"""
    port, source = fresh(), fresh()
    squat(4, port, [source])
    v = tcp(VICTIM, OWN[4], port, listen=True)
    time.sleep(0.8)
    body = session.body(tcp(ATTACKER, OWN[4], fresh()), (OWN[4], port), (PEER[4], source))
    check("a lone claim stays for its connection", isinstance(session.ask("CLAIM_UPDATE", body), bytes))
    v.close()


if __name__ == "__main__":
    victims()
    closed()
    sys.exit(hostile.failed != 0)
