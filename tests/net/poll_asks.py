# SPDX-License-Identifier: BSD-2-Clause
"""server ADDRESS PORT epoll|poll: echoes until the client has gone, beside two pipes that become readable now and then,
one for the timer of a program. Says how often each was ready.
client ADDRESS PORT: sends a byte each half a millisecond."""
import os
import select
import socket
import sys
import threading
import time

from own_core import alone


def ticking(seconds):
    """A pipe that becomes readable now and then, by a thread that leaves the core to others."""
    r, w = os.pipe()

    def write():
        while True:
            time.sleep(seconds)
            os.write(w, b"t")
    threading.Thread(target=write, daemon=True).start()
    return r


def server(where, how):
    alone()
    listener = socket.create_server(where)
    s = listener.accept()[0]
    pipe, timer = ticking(0.2), ticking(0.3)
    wait = select.epoll() if how == "epoll" else select.poll()
    for fd in (s.fileno(), pipe, timer):
        wait.register(fd, select.POLLIN)
    count = {s.fileno(): 0, pipe: 0, timer: 0}
    print("begun", flush=True)
    gone = False
    while not gone:
        for fd, _ in wait.poll():
            count[fd] += 1
            if fd != s.fileno():
                os.read(fd, 1)
                continue
            got = s.recv(100)
            s.send(got)
            gone = not got
    print("replies", count[s.fileno()])
    print("pipe", count[pipe], "timer", count[timer], flush=True)


def client(where):
    end = time.monotonic() + 2.5
    with socket.create_connection(where) as s:
        while time.monotonic() < end:
            s.send(b"x")
            s.recv(100)
            time.sleep(0.0005)


where = (sys.argv[2], int(sys.argv[3]))
if sys.argv[1] == "server":
    server(where, sys.argv[4])
else:
    client(where)
