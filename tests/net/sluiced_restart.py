# SPDX-License-Identifier: BSD-2-Clause
# Checked TCP traffic for tests that break things under it.
#
#   serve ADDRESS PORT         sends back what comes, on any number of connections
#   stream ADDRESS PORT FILE   one connection to it: sends a numbered message each millisecond, checks every byte that
#                              comes back; keeps in FILE: messages sent, messages back, longest gap in ms
#   churn ADDRESS PORT FILE    connects, has 20,000 bytes sent back, closes, again and again; keeps in FILE: connections
#                              done, failed, the longest in ms
#   forks ADDRESS PORT FILE    the same, but a child of each connection's own sends and reads
#
# stream, churn and forks end on SIGTERM, when what is under way has come back; status 0 if all of it was right.
import os, selectors, signal, socket, sys, time

SIZE = 1000
mode, addr, port = sys.argv[1], sys.argv[2], int(sys.argv[3])
family = socket.AF_INET6 if ":" in addr else socket.AF_INET
stopped = False


def stop(*_):
    global stopped
    stopped = True


def tell(*words):
    # Written in one piece: the test may read it at any time.
    with open(sys.argv[4], "r+b" if told else "wb") as f:
        f.write((" ".join(str(w) for w in words) + "\n").encode())
    told.append(1)


told = []


def serve():
    sel = selectors.DefaultSelector()
    listener = socket.create_server((addr, port), family=family, backlog=128)
    sel.register(listener, selectors.EVENT_READ)
    while True:
        for key, _ in sel.select():
            if key.fileobj is listener:
                c = listener.accept()[0]
                c.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                sel.register(c, selectors.EVENT_READ)
                continue
            try:
                data = key.fileobj.recv(65536)
                if data:
                    key.fileobj.sendall(data)
            except ConnectionError:
                data = b""
            if not data:
                sel.unregister(key.fileobj)
                key.fileobj.close()


def message(n):
    return n.to_bytes(8, "big") + bytes([n % 251]) * (SIZE - 8)


def stream():
    c = socket.create_connection((addr, port))
    c.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    sent = back = 0
    gap = 0.0
    last = None
    have = b""
    end = None
    next_send = time.monotonic()
    while end is None or (back < sent and time.monotonic() < end):
        now = time.monotonic()
        if stopped and end is None:
            end = now + 30
        if end is None and now >= next_send:
            c.setblocking(True)
            c.sendall(message(sent))
            sent += 1
            next_send = max(next_send + 0.001, now - 0.1)
        c.settimeout(max(0.0005, min(0.01, next_send - time.monotonic())))
        try:
            data = c.recv(262144)
        except (TimeoutError, BlockingIOError):
            continue
        assert data, "the connection has ended"
        have += data
        while len(have) >= SIZE:
            assert have[:SIZE] == message(back), f"message {back} is wrong"
            have = have[SIZE:]
            back += 1
        now = time.monotonic()
        gap = max(gap, now - (last or now))
        last = now
        tell(sent, back, round(gap * 1000))
    assert back == sent, f"{sent - back} messages have not come back"
    c.shutdown(socket.SHUT_WR)
    c.settimeout(30)
    assert c.recv(1) == b"", "more than was sent"


def exchange(c, data):
    c.sendall(data)
    got = b""
    while len(got) < len(data):
        piece = c.recv(65536)
        assert piece, "it ended early"
        got += piece
    assert got == data, "wrong bytes"


def by_child(c, data):
    child = os.fork()
    if child == 0:
        try:
            exchange(c, data)
        except (OSError, AssertionError) as e:
            print("a child's connection", e, flush=True)
            os._exit(1)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0, "lost in a child"


def churn():
    done = failed = 0
    longest = 0.0
    while not stopped:
        start = time.monotonic()
        try:
            with socket.create_connection((addr, port), timeout=30) as c:
                (by_child if mode == "forks" else exchange)(c, bytes([done % 251]) * 20000)
            done += 1
        except (OSError, AssertionError) as e:
            print("connection", done + failed, e, flush=True)
            failed += 1
        longest = max(longest, time.monotonic() - start)
        tell(done, failed, round(longest * 1000))
        time.sleep(0.005)
    assert not failed and done, f"{done} done, {failed} failed"


for sig in (signal.SIGTERM, signal.SIGINT):
    if mode != "serve":
        signal.signal(sig, stop)
{"serve": serve, "stream": stream, "churn": churn, "forks": churn}[mode]()
