# SPDX-License-Identifier: BSD-2-Clause
"""tcp_linklocal.py subject DEVICE.. OWN | peer DEVICE OWN PORT..: the subject serves at 7000 (any address), 7001 (OWN, its
link-local address, on the first device) and 7002 (SO_BINDTODEVICE, the last one); it tells the peer how it sees their
connection, and connects back to it at 7003."""
import threading

from netlib import *

SO_BINDTODEVICE, SO_BINDTOIFINDEX, SO_PEEK_OFF = 25, 62, 42


def name(addr, devices):
    """An address without its port; the scope as the index of the device in the argument list."""
    scope = addr[3] and devices.index(addr[3]) + 1
    return addr[0].split("%")[0], scope


def seen(s, devices):
    bound = s.getsockopt(socket.SOL_SOCKET, SO_BINDTOIFINDEX)
    return name(s.getsockname(), devices), name(s.getpeername(), devices), bound and devices.index(bound) + 1


def talk(s, addr, devices):
    while data := s.recv(100):
        if data == b"names":
            s.send(repr((name(addr, devices), seen(s, devices))).encode())
        elif data == b"kernel":
            s.setsockopt(socket.SOL_SOCKET, SO_PEEK_OFF, 0)  # (an option that hands the socket to the kernel)
            s.setsockopt(socket.SOL_SOCKET, SO_PEEK_OFF, -1)
            s.send(b"is" + bytes(5000))
        else:
            other = socket.socket(socket.AF_INET6)
            other.settimeout(TIMEOUT)
            other.connect((addr[0].split("%")[0], 7003, 0, addr[3]))
            other.send(repr(seen(other, devices)).encode())
            other.close()


def serve(ls, devices):
    while True:
        s, addr = ls.accept()
        try:
            talk(s, addr, devices)
        except OSError as e:
            s.send(repr(e).encode())
        s.close()


def listener(addr, port, scope=0, device=None):
    s = socket.socket(socket.AF_INET6)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if device:
        s.setsockopt(socket.SOL_SOCKET, SO_BINDTODEVICE, device.encode())
    s.bind((addr, port, 0, scope))
    s.listen(5)
    return s


def subject(*args):
    devices, own = args[:-1], args[-1]
    numbers = [socket.if_nametoindex(d) for d in devices]
    ls = [listener("::", 7000), listener(own, 7001, numbers[0]), listener("::", 7002, device=devices[-1])]
    for one in ls[1:]:
        threading.Thread(target=serve, args=(one, numbers), daemon=True).start()
    serve(ls[0], numbers)


def answer(s, n=1):
    got = b""
    while len(got) < n:
        got += s.recv(10000)
    return got[:200].rstrip(b"\0").decode()


def peer(device, own, *ports):
    scope = socket.if_nametoindex(device)
    ls = listener("::", 7003)
    ls.settimeout(TIMEOUT)
    for port in map(int, ports):
        s = socket.socket(socket.AF_INET6)
        s.settimeout(TIMEOUT)
        s.connect((own, port, 0, scope))
        for _ in range(20):  # most of it is ours to carry
            s.send(b"names")
            how = answer(s)
        say(port, how)
        s.send(b"back")
        say(port, "and back", answer(ls.accept()[0]))
        s.send(b"kernel")
        say(port, answer(s, 5002))
        s.send(b"names")
        say(port, "by the kernel", answer(s))
        s.close()


subject(*sys.argv[2:]) if sys.argv[1] == "subject" else peer(*sys.argv[2:])
