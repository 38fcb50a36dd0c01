# SPDX-License-Identifier: BSD-2-Clause
"""settings_waits.py WHAT OWN PEER PORT SLUICE: the effect of a setting of lanes or of waiting calls. A reflector is at
PEER PORT, a server of streams at the port after it. Prints one line."""
import concurrent.futures
import select
import threading
import time
from settings_own import *
from own_core import alone


def asked():
    s = udp(own)
    ask(s, (peer, port))
    return s


if what == "lanes":
    held, both = [], threading.Barrier(2)

    def two():
        held.extend([asked(), asked()])
        both.wait()

    threads = [threading.Thread(target=two) for i in range(2)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    seen = stat()
    print("%d sockets, %d lanes" % (len([k for k in seen["sockets"] if k["rx_pkts"]]),
                                    len([l for l in seen["lanes"] if l["rx_pkts"]])))
elif what == "on_cores":
    cores = sorted(os.sched_getaffinity(0))[:2]

    def on(core):
        os.sched_setaffinity(0, {core})
        return asked()

    def lanes_of(*sockets):
        return {k["lane"] for k in stat()["sockets"] if k["fd"] in [s.fileno() for s in sockets]}

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        first = list(pool.map(on, cores))
        second = on(cores[1])
    print("%d lanes, then 1 more socket on %d of them" % (len(lanes_of(*first)), len(lanes_of(*first) & lanes_of(second))))
elif what == "frames":
    s = asked()
    end = time.monotonic() + 5
    while not stat()["frames_all"] and time.monotonic() < end:
        time.sleep(0.05)
    print(stat()["frames_all"])
elif what == "skip":
    # Calls until a pipe that was quiet is reported beside a socket that always has data: the most of ten tries.
    s, (r, w), ctl = asked(), os.pipe(), udp(own)
    ctl.sendto(question(count=3, size=50, to=[own, s.getsockname()[1]]), (peer, port))
    ask(ctl, (peer, port))
    p, most = select.epoll(), 0
    p.register(s, select.EPOLLIN)
    p.register(r, select.EPOLLIN)
    for turn in range(10):
        for i in range(300 + turn):
            p.poll(1)
        os.write(w, b"x")
        n = 1
        while len(p.poll(1)) < 2 and n < 1000:
            n += 1
        most = max(most, n)
        os.read(r, 1)
    print(most)
elif what in ("poll", "recv"):
    # Three waits in vain, of a socket that the kernel has given a datagram.
    alone()
    s = asked()
    udp(own).sendto(b"by the kernel", s.getsockname())
    s.recv(100)
    s.settimeout(None)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("ll", 0, 50000))
    p = select.poll()
    p.register(s, select.POLLIN)
    p.register(os.pipe()[0], select.POLLIN)
    for i in range(3):
        p.poll(50) if what == "poll" else attempt(s.recv, 10)
    print("done")
elif what == "contend":
    # Two threads want one lane all the time; receive calls of Python run side by side.
    sockets, end = [asked(), asked()], time.monotonic() + 0.5

    def look(s):
        s.setblocking(False)
        while time.monotonic() < end:
            for i in range(100):
                attempt(s.recv, 10)

    threads = [threading.Thread(target=look, args=[s]) for s in sockets]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    print("done")
elif what == "burst":
    s, ctl = asked(), udp(own)
    ctl.sendto(question(count=60, size=50, to=[own, s.getsockname()[1]]), (peer, port))
    end = time.monotonic() + 5
    while total("lanes", "rx_pkts") < 61 and time.monotonic() < end:
        time.sleep(0.1)
    print(max(l["keeper_max"] for l in stat()["lanes"]))
elif what == "stream":
    s = socket.create_connection((peer, port + 1), TIMEOUT)
    got = 0
    while got < 1 << 20:
        got += len(s.recv(1 << 20))
    print(total("lanes", "rx_gro"))
