# SPDX-License-Identifier: BSD-2-Clause
"""settings.py WHAT OWN PEER PORT: the effect of a setting, as the program sees it. A reflector is at PEER PORT.
Prints one word or number."""
import os
import resource
import threading
import time
from netlib import *

what, own, peer, port = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])


def flood(n, size):
    """Returns how many of n datagrams, sent while the socket was not read, are there afterwards."""
    s, ctl = udp(own), udp(own)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    ask(s, (peer, port))
    ctl.sendto(question(count=n, size=size, to=[own, s.getsockname()[1]]), (peer, port))
    time.sleep(0.3)  # no thread turns the lane while they come
    ask(ctl, (peer, port))
    time.sleep(0.1)
    s.settimeout(0.2)
    got = 0
    try:
        while s.recv(2048):
            got += 1
    except socket.timeout:
        return got


if what == "rcvbuf":
    print(flood(300, 200))
elif what == "batch":
    flood(400, 50)
    time.sleep(30)
elif what == "loop":
    group = "239.7.7.7"
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.bind((group, 7100))
    s.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP,
                 socket.inet_aton(group) + socket.inet_aton(own))
    t = udp(own)
    t.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton(own))
    on = t.getsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_LOOP)
    t.sendto(b"x", (group, 7100))
    s.settimeout(0.5)
    try:
        print(on, s.recv(10))
    except socket.timeout:
        print(on, "nothing")
elif what == "cpu":
    # Processor time of a wait for half a second on a socket of the kernel, in microseconds.
    s, t = udp("127.0.0.1"), udp("127.0.0.1")
    s.settimeout(None)
    # Other programs must not have the core meanwhile, or the library rightly sleeps: this thread alone is bound to one
    # (so it is not asked whether the machine has a core for all), and ordinary threads do not take it. How often they
    # did before is noticed in a first wait, after which a thread sleeps for 100 ms at most.
    threading.Timer(0.9, lambda: t.sendto(b"x", s.getsockname())).start()
    threading.Timer(0.1, lambda: t.sendto(b"x", s.getsockname())).start()
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    except OSError:
        pass
    s.recv(10)
    time.sleep(0.2)
    before = resource.getrusage(resource.RUSAGE_THREAD)
    s.recv(10)
    after = resource.getrusage(resource.RUSAGE_THREAD)
    print(int((after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) * 1e6))
elif what == "wait":
    s = udp(own)
    ask(s, (peer, port))  # the kernel may send this
    ask(s, (peer, port))
    print("ready", flush=True)
    time.sleep(60)
