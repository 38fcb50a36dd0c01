# SPDX-License-Identifier: BSD-2-Clause
"""settings_calls.py WHAT OWN PEER PORT SLUICE: the effect of a setting, by what `sluice stat` counts of this process.
A reflector is at PEER PORT. Prints one line."""
import subprocess
import threading
import time
from settings_own import *


def queued(s, n, size):
    """Has n datagrams sent to s, and returns when all have certainly come."""
    ctl = udp(own)
    ctl.sendto(question(count=n, size=size, to=[own, s.getsockname()[1]]), (peer, port))
    ask(ctl, (peer, port))
    time.sleep(0.3)


if what == "drain":
    s = udp(own)
    ask(s, (peer, port))
    s.setblocking(False)
    queued(s, 40, 50)
    s.recv(2048)
    before = total("lanes", "turns")
    for i in range(39):
        s.recv(2048)
    print(total("lanes", "turns") - before)
elif what == "name":
    s, unconnected = udp(own), udp(own)
    ask(s, (peer, port))
    ask(unconnected, (peer, port))
    s.connect((peer, port))
    ask(s, (peer, port))
    sent = total("sockets", "tx_pkts")
    for i in range(5):
        s.getsockname()
        unconnected.getsockname()
    dummies = total("sockets", "tx_dummies")
    ask(s, (peer, port))
    print("%d dummies, %d sent" % (dummies, total("sockets", "tx_pkts") - sent))
elif what == "whole":
    s = udp(own)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
    ask(s, (peer, port))
    queued(s, 200, 1400)
    s.settimeout(1)
    got = 0
    while got < 200 and attempt(s.recv, 2048) != "timeout":
        got += 1
    print("%d of 200" % got)
elif what == "poll":
    s = udp(own, timeout=0.2)
    ask(s, (peer, port))
    attempt(s.recv, 10)
    view = subprocess.run([tool, "stat", "-p", str(os.getpid()), "-v", "1", "-c", "1"], env=PLAIN, check=True,
                          stdout=subprocess.PIPE, text=True).stdout
    print("counted" if stat()["poll_ns"] else "nothing", *[x for x in view.splitlines() if x.startswith("Polling")])
elif what == "arm":
    s, ctl = udp(own), udp(own)
    ask(s, (peer, port))
    time.sleep(0.1)
    before = total("lanes", "keeper_turns")
    for i in range(10):
        ctl.sendto(question(to=[own, s.getsockname()[1]]), (peer, port))
        time.sleep(0.05)
    print(total("lanes", "keeper_turns") - before)
elif what == "cores":
    cores, both = [], threading.Barrier(2)

    def name_one():
        ask(udp(own), (peer, port))
        ask(udp(own), (peer, port))
        cores.append(os.sched_getaffinity(0))
        both.wait()

    os.sched_setaffinity(0, set(sorted(os.sched_getaffinity(0))[:2]))
    threads = [threading.Thread(target=name_one) for i in range(2)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    print("%d and %d, all: %d" % (len(cores[0]), len(cores[1]), len(cores[0] | cores[1])))
