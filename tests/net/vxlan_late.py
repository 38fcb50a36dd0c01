#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""ADDR PORT: sends numbered datagrams to an echo, 2,000 a second, until SIGINT; a line each 100. Last line: what was lost."""
import select
import signal
import socket
import sys
import time

s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
s.connect((sys.argv[1], int(sys.argv[2])))
going = True


def end(_number, _frame):
    global going
    going = False


def take(seconds, got):
    while select.select([s], [], [], seconds)[0]:
        got.add(int(s.recv(64)))
        seconds = 0 if going else seconds


signal.signal(signal.SIGINT, end)
back = set()
n = 0
while going:
    s.send(b"%d" % n)
    n += 1
    take(0, back)
    if n % 100 == 0:
        print(n, flush=True)
    time.sleep(0.0005)
take(0.5, back)
lost = n - len(back)
print("none is lost" if not lost else f"{lost} of {n} are lost", flush=True)
