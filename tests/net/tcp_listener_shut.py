# SPDX-License-Identifier: BSD-2-Clause
"""tcp_listener_shut.py OWN PEER FAR: shutdown(2) of a listener. For reading it ends the listening."""
from tcplib import *

own, peer, far = start()


def looks(s):
    return state(s), polled(s), so_error(s), s.getsockopt(SOL, socket.SO_ACCEPTCONN)


def accepts(ls):
    got = attempt(ls.accept)
    return got if isinstance(got, str) else "a connection"


port = 7000
for how in socket.SHUT_RD, socket.SHUT_RDWR, socket.SHUT_WR:
    for waiting in False, True:
        port += 1
        ls = tcp(own, port, 5)
        ls.setblocking(False)
        f = far.begin_connect(own, port) if waiting else None
        if f:
            say("one waits", f.settles("OUT"), settles(ls, "IN"))
        say("shut", how, attempt(ls.shutdown, how))
        say("   then", looks(ls), accepts(ls), ls.getsockname()[1] == port)
        if f:
            say("   its peer", f.settles("ERR") if how != socket.SHUT_WR else f.settles("OUT"))
            f.close()
        if how != socket.SHUT_WR:
            f = far.begin_connect(own, port)
            say("   a new peer", f.settles("ERR"))
            f.close()
        say("   again", attempt(ls.listen, 5), looks(ls))
        f = far.begin_connect(own, port)
        say("   a peer then", settles(ls, "IN"), accepts(ls))
        f.close()
        ls.close()

# A thread that waits in accept() comes back.
for how in socket.SHUT_RD, socket.SHUT_RDWR:
    port += 1
    ls = tcp(own, port, 5)
    got = []
    t = threading.Thread(target=lambda: got.append(accepts(ls)))
    t.start()
    time.sleep(0.1)
    say("a thread waits", attempt(ls.shutdown, how))
    t.join(5)
    say("   it gets", got)
    # and one that polls
    ls.listen(5)
    t = threading.Thread(target=lambda: got.append(asleep("poll", ls, select.POLLIN)))
    t.start()
    time.sleep(0.1)
    say("a thread polls", attempt(ls.shutdown, how))
    t.join(5)
    say("   it gets", got)
    ls.close()
say("done")
