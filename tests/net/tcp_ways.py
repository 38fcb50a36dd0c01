# SPDX-License-Identifier: BSD-2-Clause
"""tcp_ways.py serve ADDRESS PORT
tcp_ways.py wait|poll|defer taken|refused|either BYTES ADDRESS PORT FILE

Fast Open while the peer's segments come by another device. The server prints of each connection how many bytes came
and how it ended, and sends all of them back. The client gets a cookie, makes FILE.ready, and sends BYTES when FILE
exists, as many as it can with the SYN; they must arrive once."""
import ipaddress
import os
import select
import socket
import sys
import threading
import time

MSG_FASTOPEN, TCP_FASTOPEN, TCP_FASTOPEN_CONNECT, SYN_DATA = 0x20000000, 23, 30, 32


def family(address):
    return socket.AF_INET if ipaddress.ip_address(address).version == 4 else socket.AF_INET6


def to_end(s):
    got = b""
    while piece := s.recv(65536):
        got += piece
    return got


def answer(s):
    try:
        got = to_end(s)
        s.sendall(got)
        print(len(got), "bytes", flush=True)
    except OSError as e:
        print("ended by", e, flush=True)
    s.close()


def serve(address, port):
    listener = socket.create_server((address, int(port)), family=family(address))
    listener.setsockopt(socket.IPPROTO_TCP, TCP_FASTOPEN, 5)
    while True:
        threading.Thread(target=answer, args=(listener.accept()[0],), daemon=True).start()


def begin(s, how, data, to):
    s.setblocking(how != "poll")
    if how != "defer":
        return s.sendto(data, MSG_FASTOPEN, to)
    s.setsockopt(socket.IPPROTO_TCP, TCP_FASTOPEN_CONNECT, 1)
    s.connect(to)
    return s.send(data)


def connect(how, taken, size, address, port, file):
    to = (address, int(port))
    for i in range(2):  # (twice, since the peer may refuse a cookie that we have from before)
        s = socket.socket(family(address))
        s.sendto(b"cookie", MSG_FASTOPEN, to)
        s.shutdown(socket.SHUT_WR)
        assert to_end(s) == b"cookie"
        s.close()
    open(file + ".ready", "w").close()
    while not os.path.exists(file):
        time.sleep(0.01)
    data = bytes(i % 251 for i in range(int(size)))
    begun = time.monotonic()
    s = socket.socket(family(address))
    sent = begin(s, how, data, to)
    # (A non-blocking Fast Open takes at least 1220 bytes; some of a longer message may be left.)
    assert sent == len(data) or (how == "poll" and len(data) > 1220 <= sent), sent
    if how == "poll":
        p = select.poll()
        p.register(s, select.POLLOUT)
        assert p.poll(30000) == [(s.fileno(), select.POLLOUT)]
        s.setblocking(True)
    assert s.getpeername()[:2] == to
    took = time.monotonic() - begun
    s.sendall(data[sent:] + b"more")
    s.shutdown(socket.SHUT_WR)
    s.settimeout(30)
    assert to_end(s) == data + b"more"
    with_syn = bool(s.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 8)[5] & SYN_DATA)
    assert taken == "either" or with_syn == (taken == "taken"), with_syn
    print("%.1f s" % took)


if sys.argv[1] == "serve":
    serve(*sys.argv[2:])
else:
    connect(*sys.argv[1:])
