# SPDX-License-Identifier: BSD-2-Clause
"""A first connection: makes the file FILE.began when it begins; FILE.over gets the result.

tcp_restart.py ADDRESS PORT blocking|nonblocking FILE
"""
import errno
import os
import select
import socket
import sys
import time

address, port, how, file = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4]


def tell(what, text):
    with open(file + ".new", "w") as f:
        f.write(text)
    os.rename(file + ".new", f"{file}.{what}")


s = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET)
tell("began", "")
if how == "blocking":
    err = s.connect_ex((address, port))
else:
    s.setblocking(False)
    err = s.connect_ex((address, port))
    assert err == errno.EINPROGRESS, errno.errorcode[err]
    p = select.poll()
    p.register(s, select.POLLOUT)
    p.poll(60000)
    err = s.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
    s.setblocking(True)
if err == 0:
    assert s.recv(1) == b"x"
tell("over", errno.errorcode[err] if err else "connected")
time.sleep(100)
