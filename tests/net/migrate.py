# SPDX-License-Identifier: BSD-2-Clause
"""migrate.py serve ADDRESS PORT: sends numbered datagrams to each that asks, or to a group, as many as each question says.
migrate.py relay ADDRESS PORT: sends each datagram on to the address and port that it names.
migrate.py WHAT OWN PEER PORT SLUICE: threads receive from sockets that another thread has bound; a reflector is at
PEER PORT, migrate.py serve at the port after it. Prints one line."""
import select
import sys
import threading
import time

if sys.argv[1] == "serve":
    from netlib import *
    s, sent = udp(sys.argv[2], int(sys.argv[3]), None), {}
    while True:
        data, sender = s.recvfrom(100)
        count, *to = data.decode().split()
        to = (to[0], int(to[1])) if to else sender
        for i in range(int(count)):
            sent[to] = sent.get(to, 0) + 1
            s.sendto(b"%d" % sent[to], to)
if sys.argv[1] == "relay":
    from netlib import *
    s = udp(sys.argv[2], int(sys.argv[3]), None)
    while True:
        data = s.recv(100)
        s.sendto(data, (data.split()[1].decode(), int(data.split()[2])))
from settings_own import *


def bound(addr=own, port_number=0):
    s = udp(addr, port_number, None)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("ll", int(TIMEOUT), 0))
    s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
    return s


def joined(group, port_number):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("ll", int(TIMEOUT), 0))
    s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
    s.bind((group, port_number))
    s.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, socket.inet_aton(group) + socket.inet_aton(own))
    return s


def asks(s, n):
    for i in range(n):
        ask(s, (peer, port))


def in_threads(calls):
    threads = [threading.Thread(target=c[0], args=c[1:]) for c in calls]
    for t in threads:
        t.start()
    for t in threads:
        t.join()


def shown(*sockets):
    """How many lanes these sockets are on, and how often they have moved in all."""
    of = [k for k in stat()["sockets"] if k["fd"] in [s.fileno() for s in sockets]]
    return len({k["lane"] for k in of}), sum(k["rx_migrations"] for k in of)


def until(n, *sockets):
    """Waits until that many moves have been made, at most for a while."""
    end = time.monotonic() + 3
    while shown(*sockets)[1] < n and time.monotonic() < end:
        time.sleep(0.02)


if what == "spread":
    # Each thread has a socket that the first thread has used. They go on until all have moved.
    sockets, done = [bound() for i in range(3)], threading.Event()

    of_thread = {}

    def serve(s):
        of_thread[s.fileno()] = threading.get_native_id()
        while not done.is_set():
            asks(s, 50)

    for s in sockets:
        asks(s, 2)
    before = shown(*sockets)
    watch = threading.Thread(target=lambda: (until(len(sockets), *sockets), done.set()))
    watch.start()
    in_threads([(serve, s) for s in sockets])
    watch.join()
    view = subprocess.run([tool, "stat", "-p", str(os.getpid()), "-v", "3", "-c", "1"], env=PLAIN, check=True,
                          stdout=subprocess.PIPE, text=True).stdout
    seen = stat()
    tid = {l["id"]: l["tid"] for l in seen["lanes"]}
    own_lane = sum(tid[k["lane"]] == of_thread[k["fd"]] for k in seen["sockets"] if k["fd"] in of_thread)
    print("%d lane of 3 sockets, then %d lanes, %d moves, %d shown, %d with its thread" %
          (before[0], *shown(*sockets), view.count("Ring migrations Rx: 1, Tx: 0\n"), own_lane))
elif what in ("order", "epoll", "group", "two"):
    # Two threads take turns in receiving from one socket, while datagrams are under way all the time.
    EACH, TURNS, AHEAD, STEP = 300, 40, 400, 20
    GROUP, last, wrong = ("239.7.7.%d" % len(what), 7300), [0], [0]
    alone, cores = what in ("order", "epoll"), sorted(os.sched_getaffinity(0))
    to = b"" if alone else b" %s %d" % (GROUP[0].encode(), GROUP[1])
    s = bound() if alone else joined(*GROUP)
    other = joined(*GROUP) if what == "two" else None
    if alone:
        asks(s, 2)
    both = threading.Barrier(2)
    turn = [threading.Semaphore(1), threading.Semaphore(0)]
    s.sendto(b"%d" % AHEAD + to, (peer, port + 1))

    def receive(sets):
        while what == "epoll":
            n = attempt(s.recv, 100, socket.MSG_DONTWAIT)
            if n != "EAGAIN":
                return n
            assert sets.poll(TIMEOUT)
        return s.recv(100)

    def take(me):
        if os.environ.get("SLUICE_RING") == "core":
            os.sched_setaffinity(0, {cores[me]})
        sets = select.epoll()
        sets.register(s, select.EPOLLIN)
        mine = bound()  # opens the thread's lane, which may take longer than a turn
        asks(mine, 2)
        both.wait()
        for i in range(TURNS // 2):
            turn[me].acquire()
            for j in range(EACH):
                n = int(receive(sets))
                attempt(mine.recv, 1, socket.MSG_DONTWAIT)  # turns the thread's own lane
                wrong[0] += n != last[0] + 1
                last[0] = n
                if n % STEP == 0:
                    s.sendto(b"%d" % STEP + to, (peer, port + 1))
            turn[1 - me].release()

    in_threads([(take, 0), (take, 1)])
    moves = shown(s)[1]
    print("%d of %d datagrams, %d out of order, %s moves" %
          (last[0], EACH * TURNS, wrong[0], "many" if moves >= TURNS // 8 else moves))
elif what == "sender":
    # Threads take turns in sending numbered datagrams to an own socket by way of the reflector's host; none receives by it.
    EACH, TURNS = 600, 12
    s, got = bound(), bound()
    back, order = got.getsockname()[1], []
    ask(s, (peer, port))

    turn, under_way = [threading.Semaphore(1), threading.Semaphore(0)], threading.Semaphore(50)

    def send(me):
        own_lane = bound()
        ask(own_lane, (peer, port))
        for first in range(me * EACH, TURNS * EACH, 2 * EACH):
            turn[me].acquire()
            for i in range(EACH):
                under_way.acquire()
                s.sendto(b"%d %s %d" % (first + i, own.encode(), back), (peer, port + 2))
            turn[1 - me].release()

    def collect():
        for i in range(EACH * TURNS):
            order.append(int(got.recv(100).split()[0]))
            under_way.release()

    reader = threading.Thread(target=collect)
    reader.start()
    in_threads([(send, 0), (send, 1)])
    reader.join()
    of = [k for k in stat()["sockets"] if k["fd"] == s.fileno()][0]
    moves = of["tx_migrations"]
    print("%d datagrams, in order: %s, %s moves to send, %d to receive" %
          (len(order), order == sorted(order), "many" if moves >= TURNS // 3 else moves, of["rx_migrations"]))
elif what == "chosen":
    # The program has said that it wants the lane of the thread that bound it (SO_VMA_RING_ALLOC_LOGIC).
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.setsockopt(socket.SOL_SOCKET, 2810, struct.pack("5I", 0, 20, 0, 0, 0))
    s.bind((own, 0))
    in_threads([(asks, s, 300)])
    print("%d moves" % shown(s)[1])
elif what == "ended":
    # Threads use the socket one after the other, each for long enough to have it moved.
    s = bound()
    ask(s, (peer, port))
    for i in range(10):
        in_threads([(asks, s, 300)])
    n = len([l for l in stat()["lanes"] if l["rx_pkts"]])
    print("few lanes" if n <= 2 else "%d lanes" % n)
