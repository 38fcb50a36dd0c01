# SPDX-License-Identifier: BSD-2-Clause
"""levels.py calls|live|terminal OWN PEER PORT SLUICE: makes socket calls, so that the log tells of them. live: raises the log
level by `sluice stat -l` between two questions. terminal: standard error is a terminal; prints what came there."""
import pty
import subprocess
import time
from netlib import *

what, own, peer, port, tool = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]), sys.argv[5]
PLAIN = {k: v for k, v in os.environ.items() if k != "LD_PRELOAD"}


def calls():
    s = udp(own)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 100000)
    s.connect((peer, port))
    attempt(socket.socket().listen, -1)
    attempt(s.listen, 5)
    ask(s, (peer, port))
    s.close()


if what == "calls":
    calls()
elif what == "live":
    s = udp(own)
    ask(s, (peer, port))
    subprocess.run([tool, "stat", "-p", str(os.getpid()), "-l", "6"], env=PLAIN, check=True)
    time.sleep(0.5)
    ask(s, (peer, port))
elif what == "terminal":
    pid, terminal = pty.fork()
    if not pid:
        os.execv(sys.executable, [sys.executable, sys.argv[0], "calls", *sys.argv[2:]])
    try:
        while True:
            got = os.read(terminal, 4096)
            if not got:
                break
            sys.stdout.buffer.write(got)
    except OSError:
        pass
