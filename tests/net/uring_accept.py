# SPDX-License-Identifier: BSD-2-Clause
"""uring_accept.py ADDRESS PORT FILE N: N connections that wait before FILE exists, and one that comes later; without
the later one if FILE is empty."""
import sys
import time

from netlib import hello, text_of

address, port, path, n = sys.argv[1], int(sys.argv[2]), sys.argv[3], int(sys.argv[4])


def connect(i):
    return hello((address, port), b"hello %d" % i)


conns = [connect(i) for i in range(n)]
if path:
    time.sleep(0.2)
    open(path, "w").close()
print([text_of(c) for c in conns], path and text_of(connect(n)))
