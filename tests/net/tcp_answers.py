# SPDX-License-Identifier: BSD-2-Clause
"""How soon a host answers segments while its program is away from the socket calls.

server ADDRESS PORT sleep|compute: echoes each byte; after "w", "n" or "z" it goes away for AWAY seconds, which begin
with a write that overfills a small window (w), two short writes (n), or nothing. Each second connection comes with one
to the next port, on which nothing is said.
peer DEVICE GHOST GHOST_MAC SUBJECT SUBJECT_MAC PORT ROUNDS: prints for each kind of segment the times until the answer
in microseconds, sorted."""
import random
import socket
import sys
import time

AWAY = 0.1
ECHOES = 40


def away(how):
    end = time.monotonic() + AWAY
    if how == "sleep":
        time.sleep(AWAY)
    while time.monotonic() < end:
        pass


def serve(s, how):
    while True:
        got = s.recv(1)
        if got == b"e":
            s.send(b"e")
            continue
        if got == b"w":
            s.send(b"w" * 3000)
        elif got == b"n":
            s.send(b"1")
            s.send(b"2")
        return away(how)


def server(where, how):
    family = socket.AF_INET6 if ":" in where[0] else socket.AF_INET
    busy, mute = (socket.create_server((where[0], where[1] + i), family=family) for i in range(2))
    while True:
        with busy.accept()[0] as s:
            serve(s, how)
        with mute.accept()[0] as s, busy.accept()[0] as t:
            serve(t, how)


class Peer:
    """One connection of the ghost's; numbers as in segpeer.py."""

    def __init__(self, net, port):
        self.f = net.flow(port)
        self.mine = self.theirs = 1
        self.f.put("S 0:0(0) win 32792 <mss 1000,sackOK>")
        self.f.until("S. 0:0(0) ack 1")
        self.ack()

    def ack(self, win=32792):
        self.f.put(f". {self.mine}:{self.mine}(0) ack {self.theirs} win {win}")

    def says(self, byte, win=32792):
        self.f.put(f"P. {self.mine}:{self.mine + 1}(1) ack {self.theirs} win {win}", byte)
        self.mine += 1

    def echoes(self):
        for _ in range(ECHOES):
            self.says(b"e")
            self.f.until(f". {self.theirs}:{self.theirs + 1}(1) ack {self.mine}")
            self.theirs += 1

    def time(self, send, spec):
        """Microseconds from send() to the segment; earlier ones are none."""
        time.sleep(random.uniform(0.002, 0.02))
        self.f.net.receive(0)
        self.f.queue.clear()
        began = time.monotonic()
        send()
        return int((self.f.until(spec).at - began) * 1e6)

    def drop(self):
        self.f.put(f"R. {self.mine}:{self.mine}(0) ack {self.theirs}")
        self.f.drop()


def hole(p, mute):
    p.echoes()
    p.says(b"z")
    return p.time(lambda: p.f.put(f". {p.mine + 1000}:{p.mine + 2000}(1000) ack {p.theirs}"),
                  f". {p.theirs}:{p.theirs}(0) ack {p.mine}")


def fin(p, mute):
    """(The ACK of a FIN that follows data may be delayed.)"""
    p.echoes()
    p.says(b"z")
    return mute.time(lambda: mute.f.put("F. 1:1(0) ack 1"), ". 1:1(0) ack 2")


def window(p, mute):
    p.echoes()
    p.says(b"w", 1000)
    p.f.until(f". {p.theirs}:{p.theirs + 1000}(1000) ack {p.mine}")
    p.theirs += 1000
    return p.time(lambda: p.ack(3000), f". {p.theirs}:{p.theirs + 1000}(1000) ack {p.mine}")


def nagle(p, mute):
    p.echoes()
    p.says(b"n")
    p.f.until(f". {p.theirs}:{p.theirs + 1}(1) ack {p.mine}")
    p.theirs += 1
    return p.time(p.ack, f". {p.theirs}:{p.theirs + 1}(1) ack {p.mine}")


KINDS = (hole, fin, window, nagle)


def peer(device, ghost, ghost_mac, subject, subject_mac, port, rounds):
    from segpeer import Net
    net = Net(device, ghost_mac, ghost, subject_mac, subject)
    took = {kind: [] for kind in KINDS}
    for i in range(int(rounds) * len(KINDS)):
        kind = KINDS[i % len(KINDS)]
        mute = Peer(net, int(port) + 1) if i % 2 else None
        p = Peer(net, int(port))
        took[kind].append(kind(p, mute))
        p.drop()
        if mute:
            mute.drop()
    for kind in KINDS:
        print(kind.__name__, *sorted(took[kind]), flush=True)


if __name__ == "__main__":
    if sys.argv[1] == "server":
        server((sys.argv[2], int(sys.argv[3])), sys.argv[4])
    else:
        peer(*sys.argv[2:])
