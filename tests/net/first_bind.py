# SPDX-License-Identifier: BSD-2-Clause
"""first_bind.py: sockets whose device is not open yet when bind(2) and listen(2) return.

 receive ADDRESS PORT        blocks for numbered datagrams; "all" if none is missing, double or out of order
 feed ADDRESS PORT FILE      sends such datagrams, every 0.2 ms, until the file is there; then some that say the end
 serve ADDRESS PORT          accepts, echoes once and closes, until a connection says the end
 ask ADDRESS PORT FILE       one connection after the other until the file is there; says how many were answered wrongly
 echo ADDRESS PORT           accepts one connection and echoes until it ends
 ping ADDRESS PORT FILE      one connection, as early as one can be had, and a byte to and fro until the file is there
 fork ADDRESS PORT           binds, and reads in a child
 numbers ADDRESS PORT        binds, closes 0 and says which number the next file has; the same by dup2(2)"""
import os
import socket
import struct
import sys
import time

END = 0xFFFFFFFF
BUFFER_FORCE = 33


def goes_on(pause):
    time.sleep(pause)
    return not os.path.exists(sys.argv[4])


def datagrams(address):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    if not os.getuid():
        s.setsockopt(socket.SOL_SOCKET, BUFFER_FORCE, 8 << 20)
    s.bind(address)
    return s


def receive(address):
    s = datagrams(address)
    last, count, wrong = None, 0, 0
    while True:
        n = struct.unpack("!I", s.recv(16))[0]
        if n == END:
            break
        wrong += last is not None and n != last + 1
        last = n
        count += 1
    print("all" if not wrong and count > 5 else f"{wrong} of {count} do not follow the one before")


def feed(address):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    n = 0
    while goes_on(0.0002):
        s.sendto(struct.pack("!I", n), address)
        n += 1
    for _ in range(20):
        s.sendto(struct.pack("!I", END), address)


def serve(address):
    s = socket.socket()
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    s.bind(address)
    s.listen(100)
    while True:
        c = s.accept()[0]
        with c:
            word = c.recv(16)
            c.sendall(word)
            if word == b"end":
                break


def say(address, word):
    with socket.create_connection(address, timeout=20) as c:
        c.sendall(word)
        answer = b""
        while chunk := c.recv(16):
            answer += chunk
        return answer == word


def ask(address):
    asked = wrong = 0
    while goes_on(0.001):
        try:
            wrong += not say(address, b"%d" % asked)
            asked += 1
        except ConnectionRefusedError:
            wrong += asked > 0
    if not say(address, b"end"):
        wrong += 1
    print(f"{wrong} wrong" if asked > 5 else f"only {asked}")


def echo(address):
    s = socket.socket()
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    s.bind(address)
    s.listen(1)
    c = s.accept()[0]
    while word := c.recv(16):
        c.sendall(word)


def ping(address):
    while True:
        try:
            c = socket.create_connection(address, timeout=20)
            break
        except ConnectionRefusedError:
            pass
    asked = wrong = 0
    while goes_on(0.0001):
        c.sendall(b"%d" % (asked % 10))
        wrong += c.recv(16) != b"%d" % (asked % 10)
        asked += 1
    print(f"{wrong} wrong")


def fork(address):
    s = datagrams(address)
    child = os.fork()
    if not child:
        print("child", s.recv(16).decode(), flush=True)
        os._exit(0)
    os.waitpid(child, 0)


def user(address):
    s = datagrams(address)
    os.seteuid(1001)
    s.settimeout(20)
    print(s.recv(16).decode(), flush=True)


def numbers(address):
    s = datagrams(address)
    os.close(0)
    print("file", os.open("/dev/null", os.O_RDONLY), end=" ")
    made = os.open("/dev/zero", os.O_RDONLY)
    for n in range(made + 1, made + 40):
        os.dup2(made, n)
    time.sleep(0.3)
    print("copies", sum(os.read(n, 1) == b"\0" for n in range(made + 1, made + 40)))
    s.close()


if __name__ == "__main__":
    globals()[sys.argv[1]]((sys.argv[2], int(sys.argv[3])))
