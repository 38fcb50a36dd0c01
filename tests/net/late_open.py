# SPDX-License-Identifier: BSD-2-Clause
"""late_open.py serve ADDRESS FILE | ask ADDRESS FILE: serve: makes a socket, and when all has been quiet for a while listens
by it (FILE says so), and makes no call any more. ask: connects as soon as FILE is there, and tells how."""
import signal
import time

from netlib import *

QUIET_S = 1.5  # the keeper sleeps without a tick after 1 s


def serve(address, file):
    s = socket.socket(socket.AF_INET)
    time.sleep(QUIET_S)
    s.bind((address, 7001))
    s.listen()
    os.close(os.open(file, os.O_CREAT, 0o600))
    while True:
        signal.pause()


def ask(address, file):
    s = socket.socket(socket.AF_INET)
    s.settimeout(TIMEOUT)
    while not os.path.exists(file):
        time.sleep(0.001)
    print(attempt(s.connect, (address, 7001)))


serve(*sys.argv[2:]) if sys.argv[1] == "serve" else ask(*sys.argv[2:])
