# SPDX-License-Identifier: BSD-2-Clause
"""What a server uses when nothing comes.

server ADDRESS PORT epoll|receive: answers one burst, then waits. Prints in milliseconds of CPU: "after", the second that
follows the burst, and "often", 0.7 s of waits of a millisecond each; and "switches", how often the other threads of the
process have run in two seconds of waits of 0.1 s each.
client ADDRESS PORT"""
import glob
import os
import select
import socket
import sys
import time

from own_core import alone

BURST = 3


def switches():
    n = 0
    for task in glob.glob("/proc/self/task/*"):
        if int(os.path.basename(task)) != os.getpid():
            with open(task + "/status", encoding="ascii") as f:
                n += sum(int(line.split()[1]) for line in f if "ctxt_switches" in line)
    return n


class Waiter:
    def __init__(self, s, how):
        self.s, self.how = s, how
        if how == "epoll":
            self.ep = select.epoll()
            self.ep.register(s, select.EPOLLIN)

    def wait(self, seconds):
        if self.how == "epoll":
            return self.ep.poll(seconds) != []
        self.s.settimeout(None)
        self.s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, int(seconds).to_bytes(8, "little")
                          + round(seconds % 1 * 1e6).to_bytes(8, "little"))
        try:
            return self.s.recv(1, socket.MSG_PEEK) != b""
        except BlockingIOError:
            return False

    def cpu(self, name, seconds, each):
        end, before = time.monotonic() + seconds, time.process_time()
        while time.monotonic() < end:
            assert not self.wait(each)
        print(name, round((time.process_time() - before) * 1000), flush=True)


def server(where, how):
    alone()
    listener = socket.create_server(where)
    s = listener.accept()[0]
    w = Waiter(s, how)
    for _ in range(BURST):
        while not w.wait(1):
            pass
        s.send(s.recv(10))
    w.cpu("after", 1.0, 0.25)
    w.cpu("often", 0.7, 0.001)
    time.sleep(1.2)
    before = switches()
    w.cpu("seldom", 2.0, 0.1)
    print("switches", switches() - before, flush=True)
    s.send(b"end")


def client(where):
    with socket.create_connection(where) as s:
        for _ in range(BURST):
            s.send(b"ping")
            assert s.recv(10) == b"ping"
        assert s.recv(10) == b"end"


where = (sys.argv[2], int(sys.argv[3]))
if sys.argv[1] == "server":
    server(where, sys.argv[4])
else:
    client(where)
