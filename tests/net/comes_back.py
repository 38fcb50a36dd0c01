# SPDX-License-Identifier: BSD-2-Clause
"""Checked traffic by each kind of socket, both ways.

comes_back.py OWN PEER DIR asks|serves

The program that serves echoes on its ports; so does the program that asks, on others: a TCP listener (7001, 7011) and a
datagram socket (7003, 7013). Each has a connection to the other's listener and a connected datagram socket to the other's
datagrams, and compares what comes back byte for byte; another connection is idle, with a thread that
waits at it. DIR/ROLE.KIND has how often that was right, DIR/ROLE.wrong what was
not. Datagrams may be lost. Both end when DIR/stop is there; then "all right" is their last line."""
import os
import socket
import sys
import threading
import time

OWN, PEER, DIR, ROLE = sys.argv[1:]
BASE, FAR = (7000, 7010) if ROLE == "asks" else (7010, 7000)
PATTERN = bytes((i * 7 + i // 251) % 256 for i in range(70000))
STEP = 0.01


def ended():
    return os.path.exists(DIR + "/stop")


def tell(kind, text):
    name = f"{DIR}/{ROLE}.{kind}"
    with open(name + ".new", "w") as f:
        f.write(text + "\n")
    os.rename(name + ".new", name)


def wrong(text):
    with open(f"{DIR}/{ROLE}.wrong", "a") as f:
        f.write(text + "\n")
    os._exit(1)


def piece(n):
    return PATTERN[n * 131 % 65536:][:1 + n * 37 % 3000]


def echo_stream(c):
    try:
        while data := c.recv(65536):
            c.sendall(data)
    except OSError as e:
        wrong(f"echo: {e}")
    c.shutdown(socket.SHUT_WR)  # (listen() has it still)


def listen():
    s = socket.create_server((OWN, BASE + 1))
    while True:
        c, _ = s.accept()
        threading.Thread(target=echo_stream, args=(c,), daemon=True).start()


def echo_datagrams():
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.bind(("0.0.0.0", BASE + 3))
    while True:
        data, sender = s.recvfrom(65536)
        try:
            s.sendto(data, sender)
        except OSError:
            pass  # (there is no route now)


def connect():
    while True:
        try:
            return socket.create_connection((PEER, FAR + 1))
        except OSError:
            time.sleep(0.1)


def stream():
    c = connect()
    n = 0
    while not ended():
        want, got = piece(n), b""
        try:
            c.sendall(want)
            while len(got) < len(want):
                data = c.recv(len(want) - len(got))
                if not data:
                    wrong(f"stream: ended at piece {n}")
                got += data
        except OSError as e:
            wrong(f"stream: piece {n}: {e}")
        if got != want:
            wrong(f"stream: piece {n} is not what was sent")
        n += 1
        tell("stream", str(n))
        time.sleep(STEP)
    c.shutdown(socket.SHUT_WR)
    if c.recv(1):
        wrong("stream: bytes after the last")


def idle():
    """A thread waits for a byte until the end, wherever the connection is meanwhile."""
    c = connect()
    waits = threading.Thread(target=await_echo, args=(c,))
    waits.start()
    while not ended():
        time.sleep(STEP)
    c.sendall(b"x")
    waits.join()
    c.shutdown(socket.SHUT_WR)


def await_echo(c):
    try:
        if c.recv(10) != b"x":
            wrong("idle: not the byte that was sent")
    except OSError as e:
        wrong(f"idle: {e}")


def datagrams():
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.connect((PEER, FAR + 3))
    s.settimeout(0.05)
    n = right = 0
    while not ended():
        n += 1
        want = b"%08d" % n + piece(n)[:1400]
        try:
            s.send(want)
            while (got := s.recv(65536)) != want:
                if len(got) < 8 or not got[:8].isdigit() or got != got[:8] + piece(int(got[:8]))[:1400]:
                    wrong(f"datagrams: {n}: {got[:20]}")
            right += 1
            tell("datagrams", str(right))
        except OSError:
            pass  # lost, or there is no route now
        time.sleep(STEP)


for f in listen, echo_datagrams:
    threading.Thread(target=f, daemon=True).start()
asking = [threading.Thread(target=f, daemon=True) for f in (stream, idle, datagrams)]
for t in asking:
    t.start()
for t in asking:
    t.join()
tell("done", "")
other = DIR + ("/serves.done" if ROLE == "asks" else "/asks.done")
while not os.path.exists(other):
    time.sleep(0.01)
print("all right", flush=True)
