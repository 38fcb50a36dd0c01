# SPDX-License-Identifier: BSD-2-Clause
"""rules_listener.py epoll|accept ADDRESS PORT: sends an x on each accepted connection, and prints what comes from the
peer."""
import selectors
import socket
import sys
import threading

listener = socket.create_server((sys.argv[2], int(sys.argv[3])))


def echo(c):
    while True:
        data = c.recv(1000)
        if not data:
            return
        c.sendall(data)


def accept():
    while True:
        c = listener.accept()[0]
        c.sendall(b"x")
        threading.Thread(target=echo, args=(c,), daemon=True).start()


def poll():
    sel = selectors.DefaultSelector()
    listener.setblocking(False)
    sel.register(listener, selectors.EVENT_READ)
    while True:
        for key, _ in sel.select():
            if key.fileobj is listener:
                c = listener.accept()[0]
                c.sendall(b"x")
                sel.register(c, selectors.EVENT_READ)
                continue
            data = key.fileobj.recv(1000)
            if data:
                key.fileobj.sendall(data)
            else:
                sel.unregister(key.fileobj)
                key.fileobj.close()


poll() if sys.argv[1] == "epoll" else accept()
