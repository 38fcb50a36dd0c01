# SPDX-License-Identifier: BSD-2-Clause
"""tcp_closing.py workers|parent DEVICE GHOST GHOST_MAC SUBJECT SUBJECT_MAC OWN PORT [PATH]: a process closes its copy
of a listener while handshakes are under way in it: these end as in the kernel, and the other processes serve the
connections. The
server is `tcp_workers.py server SUBJECT PORT 2 one`, or `tcp_prefork.py server SUBJECT PORT 3 PATH close`."""
import os
import signal
import socket
import sys

from segpeer import *

FLOWS = 24
LATE = 0.4  # seconds


class Conn:
    """A connection of the kernel's to a worker of tcp_workers.py."""

    def __init__(self, to):
        self.s = socket.create_connection(to, timeout=20)

    def ask(self):
        self.s.sendall(b"who")
        d = b""
        while not d.endswith(b"who"):
            part = self.s.recv(100)
            assert part, "the connection has ended"
            d += part
        pid, _, listener, _ = d.split()
        return int(pid), listener


def begin(net, port, n):
    flows = [net.flow(port) for _ in range(n)]
    for f in flows:
        f.put("S 0:0(0) win 32792 <mss 1000,sackOK,wscale 7>")
    for f in flows:
        f.get("S. 0:0(0) ack 1")
    return flows


def descriptors(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


def wait_for(what, seconds=10):
    end = time.monotonic() + seconds
    while not what() and time.monotonic() < end:
        time.sleep(0.02)
    return what()


def shake(flows):
    """Ends the handshakes late: the first by an ACK, the next by data, since its ACK was lost, the third after its
    SYN-ACK was lost, too."""
    for i, f in enumerate(flows):
        if i % 3 == 2:
            f.put("S 0:0(0) win 32792 <mss 1000,sackOK,wscale 7>")
            f.get("S. 0:0(0) ack 1")
        if i % 3 != 1:
            f.put(". 1:1(0) ack 1 win 257")
        f.put("P. 1:4(3) ack 1 win 257", b"who")


def answer(f, last):
    """Returns what comes until that time; sends the question again, as a peer would."""
    got = b""
    end = time.monotonic() + 10
    while not got.endswith(last):
        s = f.take(0.25)
        if s is None:
            if time.monotonic() > end:
                raise Wrong(f"no answer but {got}")
            f.put("P. 1:4(3) ack 1 win 257", b"who")
        elif s.flags & FLAGS["R"]:
            raise Wrong("reset: " + f.show(s))
        else:
            seq = f.relative(s)[0] - 1
            if s.data and seq == len(got):
                got += s.data
    f.drop()
    return got


def workers(net, to):
    conns = []
    for _ in range(200):
        conns.append(Conn(to))
        if len({c.ask()[0] for c in conns[-16:]}) > 1:
            break
    leaving = conns[0].ask()[0]
    before = descriptors(leaving)
    flows = begin(net, to[1], FLOWS)
    os.kill(leaving, signal.SIGUSR2)
    assert wait_for(lambda: conns[0].ask()[1] == b"closed"), "it does not close"
    time.sleep(LATE)
    shake(flows)
    for f in flows:
        pid, _, listener, _ = answer(f, b"who").split()
        assert int(pid) != leaving and listener == b"open", (pid, listener)
    print(FLOWS, "handshakes ended, and others serve them")
    assert conns[0].ask()[0] == leaving
    assert wait_for(lambda: descriptors(leaving) <= before - 1), (before, descriptors(leaving))
    print("nothing is left where it was closed")


def parent(net, to, path):
    flows = begin(net, to[1], FLOWS)
    open(path + ".wait", "w").close()
    assert wait_for(lambda: os.path.exists(path)), "it does not close"
    time.sleep(LATE)
    shake(flows)
    for f in flows:
        assert int(answer(f, b" "))
    print(FLOWS, "handshakes ended, and children serve them")


what, device, ghost, ghost_mac, subject, subject_mac, port, *path = sys.argv[1:]
net = Net(device, ghost_mac, ghost, subject_mac, subject)
to = (subject, int(port))
workers(net, to) if what == "workers" else parent(net, to, path[0])
