# SPDX-License-Identifier: BSD-2-Clause
"""cut_short_echo.py PORT: sends back what comes by TCP, to any number of clients."""
import selectors
import socket
import sys

sel = selectors.DefaultSelector()
s = socket.create_server(("", int(sys.argv[1])), backlog=100)
sel.register(s, selectors.EVENT_READ)
while True:
    for key, _ in sel.select():
        if key.fileobj is s:
            sel.register(s.accept()[0], selectors.EVENT_READ)
            continue
        try:
            data = key.fileobj.recv(65536)
            if data:
                key.fileobj.sendall(data)
        except OSError:
            data = b""
        if not data:
            sel.unregister(key.fileobj)
            key.fileobj.close()
