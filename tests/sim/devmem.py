# SPDX-License-Identifier: BSD-2-Clause
"""devmem.py ADDRESS PORT SOCKETS STEP..: a step is COUNTxSIZE, so many datagrams by the sockets in turn, =: all are answered, or ..: says
so, and waits for a line. At the end how many came back as they were."""
import socket
import sys

address, port, sockets = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
socks = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(sockets)]
for s in socks:
    s.connect((address, port))
    s.settimeout(5)
good = pending = 0


def collect():
    global good, pending
    for i in range(pending):
        s, text = waiting[i]
        good += s.recv(2000) == text
    waiting.clear()
    pending = 0


waiting = []
for step in sys.argv[4:]:
    if step == "..":
        print("waits", flush=True)
        if not sys.stdin.readline():
            break
        continue
    if step == "=":
        collect()
        continue
    count, size = map(int, step.split("x"))
    for n in range(count):
        text = bytes((n * 31 + i) & 255 for i in range(size))
        s = socks[n % sockets]
        s.send(text)
        waiting.append((s, text))
        pending += 1
        if pending == 8 and count > 64:
            collect()
collect()
print("good", good, flush=True)
