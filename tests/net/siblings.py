# SPDX-License-Identifier: BSD-2-Clause
"""siblings.py ADDRESS PORT FILE: the client of siblings.c: connects, waits until FILE says "attacked", and asks each child
by its socket. Prints a line for each child."""
import socket
import sys
import time

host, port = sys.argv[1], int(sys.argv[2])
WHO = ("before", "after", "parent", "grandchild", "connection")


def is_answered(s):
    for _ in range(15):  # (one may be lost while the socket goes to the kernel)
        try:
            s.send(b"whose?")
            if s.recv(100).startswith(b"mine"):
                return True
        except TimeoutError:
            pass
    return False


tcp = socket.create_connection((host, port + 4), timeout=10)
tcp.sendall(b"first")
for _ in range(150):
    with open(sys.argv[3]) as f:
        if "attacked" in f.read():
            break
    time.sleep(0.1)
for i, who in enumerate(WHO):
    s = tcp if i == 4 else socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.settimeout(0.2)
    if i < 4:
        s.connect((host, port + i))
    print(who, "mine" if is_answered(s) else "nobody's", flush=True)
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
    s.sendto(b"end", (host, port + 5))
