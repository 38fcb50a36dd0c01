# SPDX-License-Identifier: BSD-2-Clause
"""tcp_ports.py OWN PEER FAR: makes more connections, one after the other, than a range of ports would allow if ports
were picked at random: each leaves a TIME_WAIT behind, whose port must not be picked again."""
from tcplib import *

own, peer, far = start()
for fam_port in (7000, 7001):
    fl = far.tcp(peer, fam_port, 5)
    failed = []
    for i in range(70):
        s = tcp(six=is6(peer))
        got = attempt(s.connect, (peer, fam_port))
        if got is not None:
            failed.append(got)
            continue
        f, _ = fl.accept()
        s.shutdown(socket.SHUT_WR)
        f.take(1)
        f.close()
        to_end(s)
        low, port = 40000, s.getsockname()[1]
        if not low <= port < low + 200:
            failed.append(f"port {port}")
        s.close()
    say(f"to port {fam_port}: failed", failed)
    fl.close()
