# SPDX-License-Identifier: BSD-2-Clause
"""taken_back.py ADDRESS PORT: receives by a socket with SO_REUSEADDR; prints the count when SIGTERM comes."""
import signal, socket, sys

s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
s.bind((sys.argv[1], int(sys.argv[2])))
n = 0


def end(*_):
    print(n, flush=True)
    sys.exit(0)


signal.signal(signal.SIGTERM, end)
print("bound", flush=True)
while True:
    s.recv(65536)
    n += 1
