# SPDX-License-Identifier: BSD-2-Clause
"""stat_wait.py OWN: calls of select, poll and epoll sets. Prints what must be counted of each, "ready", and waits."""
import json
import os
import select
import socket
import sys
import time

COUNTERS = ("calls", "os_ready", "ready", "timeouts", "errors")
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)  # always ready to send, never to receive
s.bind((sys.argv[1], 7201))
pipe, other_end = os.pipe()  # always ready to read
os.write(other_end, b"x")


def expect(call, fd, **counts):
    print(json.dumps([call, fd, [counts.get(k, 0) for k in COUNTERS]]), flush=True)


def epoll(*members):
    e = select.epoll()
    for fd, events in members:
        e.register(fd, events)
    return e


for i in range(3):
    assert select.select([], [s], [], 0)[1] == [s]
for i in range(2):
    assert select.select([s], [], [], 0.1) == ([], [], [])
expect("select", -1, calls=5, ready=3, timeouts=2)

p = select.poll()
p.register(s, select.POLLOUT)
for i in range(4):
    assert p.poll(0)
p.register(pipe, select.POLLIN)
assert len(p.poll(0)) == 2
expect("poll", -1, calls=5, ready=5, os_ready=1)

gone = epoll((s, select.EPOLLOUT))
gone.poll(0)
ours = epoll((s, select.EPOLLOUT))
for i in range(6):
    assert len(ours.poll(0)) == 1
gone.close()  # the next set may have its place
both = epoll((s, select.EPOLLIN), (pipe, select.EPOLLIN))
for i in range(7):
    assert len(both.poll(0)) == 1
kernels = epoll((pipe, select.EPOLLIN))
kernels.poll(0)
expect("epoll", ours.fileno(), calls=6, ready=6)
expect("epoll", both.fileno(), calls=7, os_ready=7)
print("ready", flush=True)
time.sleep(60)
