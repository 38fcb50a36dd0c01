# SPDX-License-Identifier: BSD-2-Clause
"""hostile_restore_half.py SOCKET OWN-ADDRESS DEVICE PEER DAEMON-PID: as root. The daemon stands still while it fills the
queues of a user's connection, and refuses the request then. Prints what that user gets who asks for the socket all the
same: the daemon's two errors and the number of descriptors, for a live connection and for an ended one."""
import os
import signal
import sys
import time

from hostile_restore import ENDED, LIVE, MUCH, Attacker, image, memfd
from leaselib import message, receive, send

daemon = int(sys.argv[5])


def half(a, how, fd, after_s):
    """The error of a request in whose midst the daemon stands still for longer than one may take."""
    a.claim()
    send(a.s, message("RESTORE", image(a.port, a.rport, how, MUCH)), [a.tcp.fileno(), fd])
    time.sleep(after_s)
    os.kill(daemon, signal.SIGSTOP)
    a.s.setblocking(False)
    try:
        err, _, _ = receive(a.s)  # it was done already
    except BlockingIOError:
        time.sleep(8.2)
        err = None
    a.s.settimeout(20)
    os.kill(daemon, signal.SIGCONT)
    return receive(a.s)[0] if err is None else err


for how in LIVE, ENDED:
    if os.fork():
        os.wait()
        continue
    a, fd = Attacker(), memfd(MUCH)
    err = 0
    for after_s in 0.004, 0.002, 0.001, 0.006, 0.003:
        err = err or half(a, how, fd, after_s)
    send(a.s, message("RESTORED", b"\1\0\0\0"))
    last, _, fds = receive(a.s)
    print("live" if how == LIVE else "ended", err, last, len(fds), flush=True)
    os._exit(0)
