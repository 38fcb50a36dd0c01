# SPDX-License-Identifier: BSD-2-Clause
"""greeter.py ADDRESS PORT [PEER PORT FILE]: sends an x on each accepted connection and keeps it open. Connects to
PEER PORT itself when FILE exists."""
import os
import socket
import sys
import threading
import time

held = []


def ask(peer, port, file):
    while not os.path.exists(file):
        time.sleep(0.05)
    held.append(socket.create_connection((peer, int(port))))
    held[-1].recv(1)


family = socket.AF_INET6 if ":" in sys.argv[1] else socket.AF_INET
listener = socket.create_server((sys.argv[1], int(sys.argv[2])), family=family)
if len(sys.argv) > 3:
    threading.Thread(target=ask, args=sys.argv[3:]).start()
while True:
    held.append(listener.accept()[0])
    held[-1].sendall(b"x")
