# SPDX-License-Identifier: BSD-2-Clause
"""tcp_far.py PATH: the far host of the TCP programs (tcplib.py), controlled at the UNIX socket PATH
until it is killed. One program at a time."""
import faulthandler
import socket
import sys

import tcplib

faulthandler.cancel_dump_traceback_later()  # tcplib's is for one program
ctl = socket.socket(socket.AF_UNIX)
ctl.bind(sys.argv[1])
ctl.listen(1)
while True:
    conn, _ = ctl.accept()
    tcplib.Session(conn).serve()
    conn.close()
