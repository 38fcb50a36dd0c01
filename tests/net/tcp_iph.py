# SPDX-License-Identifier: BSD-2-Clause
"""tcp_iph.py subject | DEVICE OWN4 OWN6 PEER4 PEER6 FAR: the subject serves at 7000 (both families), 7001 (its options
change) and 7002 (marked), and connects where it is told at 7003. The other program captures TOS, TTL, DF, MSS, window
and flow label of the subject's packets. OWN: the subject's addresses."""
import os
import threading

from netlib import *

IP, IP6 = socket.IPPROTO_IP, socket.IPPROTO_IPV6
OPTIONS = ((IP, socket.IP_TOS, 0x10), (IP, socket.IP_TTL, 40), (IP6, socket.IPV6_TCLASS, 0x28),
           (IP6, socket.IPV6_UNICAST_HOPS, 50), (IP, IP_MTU_DISCOVER, 2),
           (socket.IPPROTO_TCP, socket.TCP_WINDOW_CLAMP, 20000))
SYN, FIN, PSH = 2, 1, 8


def listener(port, options, mark=0):
    s = socket.socket(socket.AF_INET6)
    for o in options:
        s.setsockopt(*o)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if mark:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_MARK, mark)
    s.bind(("::", port))
    s.listen(5)
    return s


def talk(s):
    while data := s.recv(100):
        s.send(data)


def serve(ls, change=()):
    while True:
        s, _ = ls.accept()
        for o in change:
            s.setsockopt(*o)
        talk(s)
        s.close()


def subject():
    threading.Thread(target=serve, args=(listener(7000, OPTIONS),), daemon=True).start()
    threading.Thread(target=serve, args=(listener(7001, ()), OPTIONS), daemon=True).start()
    threading.Thread(target=serve, args=(listener(7002, OPTIONS[:1], 5),), daemon=True).start()
    ls = listener(7003, ())
    while True:
        control, _ = ls.accept()
        to = control.recv(100).decode()
        s = socket.socket(socket.AF_INET6)
        for o in OPTIONS:
            s.setsockopt(*o)
        s.connect((to, 7004))
        talk(s)
        s.close()


def kind(flags):
    return "SYN-ACK" if flags & 0x12 == 0x12 else "SYN" if flags & SYN else \
        "FIN" if flags & FIN else "data" if flags & PSH else None


def offer(tcp):
    """MSS, window scale and window of a SYN or SYN-ACK."""
    opts, found = tcp[20:(tcp[12] >> 4) * 4], {}
    while opts and opts[0]:
        n = 1 if opts[0] == 1 else opts[1]
        found[opts[0]] = int.from_bytes(opts[2:n], "big")
        opts = opts[n:]
    return (found[2], found[3], struct.unpack_from("!H", tcp, 14)[0]) if tcp[13] & SYN else ()


def parse(p):
    """Both ports, flow label, kind, TOS, TTL, DF and offered options of a TCP frame."""
    ether = struct.unpack_from("!H", p, 12)[0]
    if ether == 0x800 and p[23] == 6:
        l4, label, tos, ttl, df = 14 + (p[14] & 15) * 4, 0, p[15], p[22], p[20] >> 6
    elif ether == 0x86dd and p[20] == 6:
        first = struct.unpack_from("!I", p, 14)[0]
        l4, label, tos, ttl, df = 54, first & 0xfffff, first >> 20 & 255, p[21], 0
    else:
        return None
    return struct.unpack_from("!HH", p, l4), label, kind(p[l4 + 13]), hex(tos), ttl, df, offer(p[l4:])


class Eye:
    def __init__(self, device):
        self.s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
        self.s.bind((device, 0))
        self.s.setblocking(False)

    def seen(self, port):
        """Describes the frames captured since the last call that came from or went to that port of the subject."""
        got, labels = set(), set()
        while True:
            try:
                p, addr = self.s.recvfrom(2000)
            except BlockingIOError:
                return *sorted(got), "labels", len(labels), 0 in labels
            if addr[2] != 4 and (what := parse(p)) and port == what[0][0 if port < 7004 else 1] and what[2]:
                got.add(what[2:])
                labels.add(what[1])


def exchange(s):
    s.settimeout(TIMEOUT)
    for _ in range(3):
        s.send(b"hello")
        if s.recv(100) != b"hello":
            raise ValueError
    s.shutdown(socket.SHUT_WR)
    if s.recv(1):
        raise ValueError
    s.close()


def main(device, own4, own6, peer4, peer6, far):
    eye = Eye(device)
    for own in own4, own6:
        for port in 7000, 7001:
            exchange(socket.create_connection((own, port), TIMEOUT))
            say(port, "IPv6" if own == own6 else "IPv4", *eye.seen(port))
    try:
        exchange(socket.create_connection((own4, 7002), TIMEOUT, (far, 0)))
        say("by the mark", *eye.seen(7002))
    except OSError as e:
        say("by the mark", e)
    ls = socket.create_server(("::", 7004), family=socket.AF_INET6, dualstack_ipv6=True)
    for name, peer in ("IPv4", "::ffff:" + peer4), ("IPv6", peer6):
        control = socket.create_connection((own4, 7003), TIMEOUT)
        control.send(peer.encode())
        exchange(ls.accept()[0])
        say("it connects", name, *eye.seen(7004))


subject() if sys.argv[1] == "subject" else main(*sys.argv[1:])
