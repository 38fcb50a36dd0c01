#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""udp_killed.py serve HOST PORT: answers datagrams by its process's number.
udp_killed.py HOST PORT: kills that process (kill -9) and goes on sending. Says on stderr after which part of the
process's end, in percent, the peer was refused, and on stdout that it was."""
import os
import select
import signal
import socket
import sys
import time


def serve(host, port):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.bind((host, port))
    while True:
        peer = s.recvfrom(100)[1]
        s.sendto(str(os.getpid()).encode(), peer)


def end_of(host, port):
    c = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    c.connect((host, port))
    c.settimeout(5)
    c.send(b"who")
    pid = int(c.recv(100))
    c.setblocking(False)
    file = os.pidfd_open(pid)
    refused = ended = None
    begin = time.monotonic()
    signal.pidfd_send_signal(file, signal.SIGKILL)
    while (refused is None or ended is None) and time.monotonic() < begin + 20:
        if ended is None and select.select([file], [], [], 0)[0]:
            ended = time.monotonic() - begin
        if refused is None:
            try:
                c.send(b"there?")
                c.recv(100)
            except BlockingIOError:
                pass
            except ConnectionRefusedError:
                refused = time.monotonic() - begin
        time.sleep(0.0002)
    print("refused", refused is not None)
    print(round(100 * refused / ended), file=sys.stderr)


if sys.argv[1] == "serve":
    serve(sys.argv[2], int(sys.argv[3]))
else:
    end_of(sys.argv[1], int(sys.argv[2]))
