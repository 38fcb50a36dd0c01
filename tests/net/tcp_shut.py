# SPDX-License-Identifier: BSD-2-Clause
"""tcp_shut.py OWN PEER FAR: a connection that is shut down for reading stays so when it moves: to the
kernel by an option or for a child, and back."""
from tcplib import *

own, peer, far = start()
listener = far.tcp(peer, 7000, 50)
DONTWAIT = socket.MSG_DONTWAIT


def to_kernel(s):
    """Sets SO_TXTIME: a connection with that is the kernel's."""
    s.setsockopt(SOL, 61, struct.pack("iI", time.CLOCK_MONOTONIC, 0))


def to_child(s):
    pid = os.fork()
    if pid == 0:
        got = attempt(s.recv, 10, DONTWAIT)
        os._exit(0 if got == b"" else 1)
    say("the child's end", os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0)


def there_and_back(s):
    try:
        sluice = ctypes.CDLL("libsluice.so.1", mode=os.RTLD_NOLOAD | os.RTLD_LAZY)
    except OSError:
        return  # the kernel's alone
    assert sluice.sl_hand_back(s.fileno()) == 0
    assert sluice.sl_take_over(s.fileno()) == 0


def looks(s):
    return polled(s), attempt(s.recv, 10, DONTWAIT), state(s)


for move in (to_kernel, to_child, there_and_back):
    for how in (socket.SHUT_RD, socket.SHUT_RDWR, socket.SHUT_WR):
        if move == to_child and how == socket.SHUT_WR:
            continue  # the peer's FIN has not come
        s = tcp(six=is6(own))
        s.connect((peer, 7000))
        f, _ = listener.accept()
        s.shutdown(how)
        becomes(s, "ESTABLISHED" if how == socket.SHUT_RD else "FIN_WAIT2")
        before = looks(s)
        move(s)
        # (The kernel may not know of FIN_WAIT2 before the next segment, so the state is left out.)
        say(move.__name__, how, before[:2], looks(s)[:2])
        if how == socket.SHUT_RD:
            say("what comes is there still", f.send(b"abc"), arrived(s, 3), s.recv(10), looks(s), s.send(b"x"), f.recv(5))
        f.close()
        say("its end", wait_for(lambda: "HUP" in polled(s).split("|") or how == socket.SHUT_RD, 2) or polled(s), attempt(s.recv, 10, DONTWAIT))
        s.close()
say("done")
