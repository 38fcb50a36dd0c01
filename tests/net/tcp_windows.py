# SPDX-License-Identifier: BSD-2-Clause
"""tcp_windows.py read ADDRESS PORT N BYTES: accepts N connections, reads so many bytes of all together, makes no call for
0.7 s, and reads on until a signal comes.
tcp_windows.py send ADDRESS PORT N BYTES: sends so many bytes by each of N - 1 connections at the same time. Prints the sum of
the windows that they have been told then, and how many segments were sent again; the window of one more connection that has
sent a byte; and that of the first connection when it has sent as much again, alone, after 2.2 s without any traffic."""
import fcntl
import select
import socket
import struct
import sys
import termios
import threading
import time

RETRANS, SND_WND = 100, 228  # of struct tcp_info


def read():
    listener = socket.create_server((address, port), backlog=n)
    live, total, paused = [listener], 0, False
    while True:
        for c in select.select(live, [], [])[0]:
            if c is listener:
                live.append(c.accept()[0])
                continue
            data = c.recv(1 << 18)
            total += len(data)
            if not data:
                live.remove(c)
        if not paused and total > size:
            time.sleep(0.7)
            paused = True


def info(c, at):
    return struct.unpack_from("I", c.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 232), at)[0]


def send(c, data):
    c.sendall(data)
    while struct.unpack("i", fcntl.ioctl(c, termios.TIOCOUTQ, b"\0" * 4))[0]:
        time.sleep(0.01)


what, address, port, n, size = sys.argv[1], sys.argv[2], *map(int, sys.argv[3:6])
if what == "read":
    read()
data = bytes(size)
conns = [socket.create_connection((address, port)) for _ in range(n - 1)]
threads = [threading.Thread(target=send, args=(c, data)) for c in conns]
for t in threads:
    t.start()
for t in threads:
    t.join()
print("together", sum(info(c, SND_WND) for c in conns), sum(info(c, RETRANS) for c in conns))
late = socket.create_connection((address, port))
send(late, b"x")
print("late", info(late, SND_WND))
time.sleep(2.2)
send(conns[0], data)
print("alone", info(conns[0], SND_WND))
