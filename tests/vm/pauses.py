# SPDX-License-Identifier: BSD-2-Clause
"""Two conversations that measure their pauses: a connection and datagrams, a message there and back each 5 ms.

pauses.py ADDRESS PORT FILE   until FILE.stop is there; FILE has, always: messages that came back by the connection and
                              as datagrams, the longest pause of each in ms since FILE.again was removed, and datagrams
                              that were lost
"""
import os
import socket
import sys
import time

STEP = 0.005
to, file = (sys.argv[1], int(sys.argv[2])), sys.argv[3]


class Talk:
    def __init__(self, s):
        self.s, self.done, self.lost, self.longest = s, 0, 0, 0.0
        self.came = self.asked = time.monotonic()
        self.want, self.got = b"", b""

    def ask(self, now):
        self.want, self.got, self.asked = b"%099d\n" % (self.done + self.lost), b"", now
        try:
            self.s.send(self.want)
        except BlockingIOError:
            pass

    def look(self, now):
        """Takes what has come, and asks again 5 ms after the last time."""
        try:
            data = self.s.recv(65536)
        except BlockingIOError:
            data = None
        if data == b"":
            sys.exit("the connection ended")
        if data and self.s.type == socket.SOCK_DGRAM:
            self.got = data if data == self.want else b""  # (a late one has been counted as lost)
        elif data:
            self.got += data
        if not self.want.startswith(self.got):
            sys.exit(f"wrong bytes: {self.got} for {self.want}")
        self.longest = max(self.longest, now - self.came)
        if self.got == self.want:
            self.done += 1
            self.came, self.got, self.want = now, b"", b""
        elif self.s.type == socket.SOCK_DGRAM and now - self.asked > 0.04:
            self.lost += 1
            self.want = b""
        if not self.want and now - self.asked >= STEP:
            self.ask(now)


def connected(kind):
    s = socket.socket(socket.AF_INET, kind)
    s.connect(to)
    s.setblocking(False)
    return Talk(s)


talks = [connected(socket.SOCK_STREAM), connected(socket.SOCK_DGRAM)]
talks[0].s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
said = 0
while not os.path.exists(file + ".stop"):
    now = time.monotonic()
    for t in talks:
        t.look(now)
    if now - said > 0.02:
        said = now
        if os.path.exists(file + ".again"):
            for t in talks:
                t.longest, t.came = 0.0, now
            os.unlink(file + ".again")
        with open(file + ".new", "w") as f:
            print(*(t.done for t in talks), *(round(t.longest * 1000) for t in talks), talks[1].lost, file=f)
        os.rename(file + ".new", file)
    time.sleep(0.001)
