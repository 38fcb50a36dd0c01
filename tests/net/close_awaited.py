# SPDX-License-Identifier: BSD-2-Clause
"""close_awaited.py peer|close|dup2|data|connect ADDRESS: a number is closed, or means another file, while a thread
sleeps in recv(2) or connect(2). In the kernel the call goes on, and the peer sees the end when it has returned."""
import errno
import os
import select
import signal
import socket
import sys
import threading
import time

PORT = 7000


def peer(address):
    """The first connection is the subject's; the second asks: 'd' send it data, 'e' has its end come?"""
    l = socket.create_server((address, PORT))
    while True:
        s = l.accept()[0]
        ask = l.accept()[0]
        s.recv(1)
        while True:
            c = ask.recv(1)
            if c == b"d":
                s.sendall(b"data")
            elif c == b"e":
                ask.sendall(b"1" if select.select([s], [], [], 0)[0] else b"0")
            elif c == b"w":  # wait for it
                ask.sendall(b"1" if select.select([s], [], [], 5)[0] else b"0")
            else:
                break
        s.close()
        ask.close()


def waiter(s, said, ready):
    fd = s.fileno()
    ready.append(threading.get_native_id())
    try:
        said.append(os.read(fd, 10))
    except OSError as e:
        said.append(e.errno)


def sleeps(tid):
    """In the kernel's recv, or in the library's sleep; never merely runnable."""
    try:
        with open(f"/proc/self/task/{tid}/stat") as f:
            return f.read().rsplit(")", 1)[1].split()[0] == "S"
    except FileNotFoundError:
        return True


def falls_asleep(ready):
    asleep = 0
    while asleep < 20:
        asleep = asleep + 1 if ready and sleeps(ready[0]) else 0
        time.sleep(0.01)


def connector(s, address, said, ready):
    ready.append(threading.get_native_id())
    try:
        s.connect((address, PORT))
    except OSError as e:
        said.append(errno.errorcode[e.errno])


def connect(address):
    """To an address that nobody has, while another connection runs; a fresh socket gets the number."""
    first = socket.create_connection((address, PORT))
    s, fresh = socket.socket(), socket.socket()
    said, ready = [], []
    t = threading.Thread(target=connector, args=(s, address.rsplit(".", 1)[0] + ".77", said, ready))
    t.start()
    falls_asleep(ready)
    os.dup2(fresh.fileno(), s.fileno())
    t.join(20)
    print("the call:", said)
    print("the fresh socket:", fresh.getsockname(), fresh.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR))
    fresh.connect((address, PORT))
    print("connects:", fresh.getpeername() == first.getpeername())


def main(how, address):
    s = socket.create_connection((address, PORT))
    ask = socket.create_connection((address, PORT))
    s.sendall(b"x")
    said, ready = [], []
    signal.signal(signal.SIGUSR1, lambda *_: None)
    signal.siginterrupt(signal.SIGUSR1, True)
    t = threading.Thread(target=waiter, args=(s, said, ready))
    t.start()
    falls_asleep(ready)
    fd = s.detach()
    other = socket.socketpair()
    if how == "close":
        os.close(fd)
    else:
        os.dup2(other[0].fileno(), fd)
    time.sleep(0.3)
    ask.sendall(b"e")
    print("end seen before:", ask.recv(1), "the call has ended:", bool(said))
    if how == "data":
        ask.sendall(b"d")
        t.join(5)
        print("the call:", said)
        ask.sendall(b"w")
        print("end seen:", ask.recv(1))
    else:
        # (Python reads on after a signal, from what the number means now.)
        other[1].sendall(b"other")
        end = time.monotonic() + 5
        while t.is_alive() and time.monotonic() < end:  # (one that comes just before a sleep does not end it)
            signal.pthread_kill(t.ident, signal.SIGUSR1)
            t.join(0.05)
        print("the call:", said)
        ask.sendall(b"w")
        print("end seen after:", ask.recv(1))
    ask.sendall(b"q")


if sys.argv[1] == "peer":
    peer(sys.argv[2])
elif sys.argv[1] == "connect":
    connect(sys.argv[2])
else:
    main(sys.argv[1], sys.argv[2])
