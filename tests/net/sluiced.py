# SPDX-License-Identifier: BSD-2-Clause
# A client of sluiced that breaks every rule of the protocol.
# Usage: sluiced.py SOCKET OWN-ADDRESS IFINDEX VICTIM-PORT OTHER-HOST OTHER-HOST'S-IPv6
# Prints the daemon's answer to each attack; exit status 0 when all were refused.
import os, socket, struct, sys, time

import leaselib
from leaselib import VERSION, dial, flow_key, message, receive, send

INJECT_MAX = 9224
path, own, ifindex, victim = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
other, other6 = sys.argv[5:7]
failed = 0


class Session:
    def __init__(self):
        self.s = dial(path, 10)

    def send(self, op, body=b"", fds=(), **wrong):
        send(self.s, message(op, body, **wrong), fds)

    def answer(self):
        """The error, "hung up", or the body of a good answer."""
        try:
            err, body, fds = receive(self.s)
        except ConnectionError:
            return "hung up"
        for fd in fds:
            os.close(fd)
        return err if err else body

    def ask(self, *args, **kw):
        try:
            self.send(*args, **kw)
        except ConnectionError:
            return "hung up"
        return self.answer()

    def hello(self):
        ns = os.open("/proc/self/ns/net", os.O_RDONLY)
        ret = self.ask("HELLO", bytes(48), [ns])
        os.close(ns)
        return ret


def claim(port, lane=0):
    return leaselib.claim(ifindex, flow_key(socket.IPPROTO_UDP, (own, port)), lane)


def refused(what, ret):
    global failed
    ok = ret == "hung up" or isinstance(ret, int)
    failed += not ok
    print("refused:" if ok else "NOT REFUSED:", what, os.strerror(-ret) if isinstance(ret, int) else "")


def bound(kind, port=0):
    s = socket.socket(socket.AF_INET, kind)
    s.bind((own, port))
    return s


mine = bound(socket.SOCK_DGRAM)
port = mine.getsockname()[1]

# Without a greeting no request is granted.
for op, body, fds in (("UMEM", b"", ()), ("PORT_OPEN", struct.pack("=II", ifindex, 0), ()),
                      ("CLAIM", claim(port), [mine.fileno()]), ("TAKE", b"", [mine.fileno()])):
    refused(f"request {op} without a greeting", Session().ask(op, body, fds))

# A message that breaks the protocol ends the connection.
for what, kw in (("another magic", {"magic": 1}), ("an error in a request", {"err": -1})):
    refused(what, Session().ask("STATUS", **kw))
refused("an unknown request", Session().ask(999))
refused("a body that is too long", Session().ask("STATUS", b"x"))
refused("a body that is too short", Session().ask("HELLO", b"x"))
refused("a huge packet", Session().ask("HELLO", bytes(60000)))
refused("descriptors where none belong", Session().ask("STATUS", b"", [0, 1, 2]))
refused("a greeting without its descriptor", Session().ask("HELLO", bytes(48)))
refused("a greeting with a file for the namespace", Session().ask("HELLO", bytes(48), [0]))
refused("another version", Session().ask("HELLO", bytes(48), [0], version=VERSION + 1))
s = Session()
s.hello()
refused("two greetings", s.hello())

# Requests about leases of other processes.
s = Session()
if isinstance(s.hello(), int):
    print("NOT GREETED")
    failed += 1
refused("a claim on a device that it has not", s.ask("CLAIM", claim(port), [mine.fileno()]))
refused("the victim's port", s.ask("CLAIM", claim(victim), [mine.fileno()]))
refused("the victim's claim given up", s.ask("UNCLAIM", claim(victim)))
refused("the victim's claim changed", s.ask("CLAIM_UPDATE", claim(victim, 5)))
refused("the victim's lane bound", s.ask("LANE_BIND", struct.pack("=II", ifindex, 0)))
refused("the victim's lane closed", s.ask("LANE_CLOSE", struct.pack("=II", ifindex, 0)))
refused("the victim's device closed", s.ask("PORT_CLOSE", struct.pack("=II", ifindex, 0)))
refused("the victim's guard taken off", s.ask("UNGUARD", struct.pack("=II", ifindex, 0)))
refused("the victim's strays", s.ask("STRAYS", struct.pack("=II", ifindex, 0)))
tcp = bound(socket.SOCK_STREAM)
refused("a connection that is none", s.ask("RESTORE", bytes(120), [tcp.fileno(), tcp.fileno()]))
refused("the end of what has not begun", s.ask("RESTORED", struct.pack("=I", 1)))
refused("a UDP socket's buffer", s.ask("BUFFER", struct.pack("=iI", 32, 1 << 20), [mine.fileno()]))
refused("another option than a buffer", s.ask("BUFFER", struct.pack("=iI", socket.SO_MARK, 1), [tcp.fileno()]))
here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
stream = socket.socketpair()[0]
named = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
named.connect(path)  # (the daemon's own)
listening = socket.socket()
listening.bind((own, 0))
listening.listen()
refused("a box that is a pipe", s.ask("BOX", struct.pack("=I", 1), [os.pipe()[1], listening.fileno()]))
refused("a box that is a stream", s.ask("BOX", struct.pack("=I", 1), [stream.fileno(), listening.fileno()]))
refused("a box that somebody listens at", s.ask("BOX", struct.pack("=I", 1), [named.fileno(), listening.fileno()]))
refused("a box of no listener", s.ask("BOX", struct.pack("=I", 1), [here.fileno(), tcp.fileno()]))
refused("a box without a listener", Session().ask("BOX", struct.pack("=I", 1), [here.fileno()]))
refused("a box given up that there is not", s.ask("UNBOX", struct.pack("=I", 1)))
for i in range(64):
    if s.ask("BOX", struct.pack("=I", i), [here.fileno(), listening.fileno()]) != b"":
        refused("a box", -1)
refused("boxes without end", s.ask("BOX", struct.pack("=I", 64), [here.fileno(), listening.fileno()]))
# Claims: only of packets to a socket's own address, from the peers that may send to it.
def inject(fd, dst, dport, src="192.0.2.1", length=None):
    udp = struct.pack("!HHHH", 53, dport, 8, 0)
    if ":" in dst:
        ends = socket.inet_pton(socket.AF_INET6, src) + socket.inet_pton(socket.AF_INET6, dst)
        total = sum(struct.unpack("!20H", ends + udp)) + 8 + socket.IPPROTO_UDP - 1
        udp = udp[:6] + struct.pack("!H", 0xFFFE - total % 0xFFFF)
        packet = struct.pack("!IHBB", 6 << 28, 8, socket.IPPROTO_UDP, 64) + ends + udp
    else:
        packet = struct.pack("!BBHHHBBH", 0x45, 0, 28, 0, 0, 64, socket.IPPROTO_UDP, 0)
        packet += socket.inet_aton(src) + socket.inet_aton(dst) + udp
    return s.ask("INJECT", struct.pack("=II", length or len(packet), 0) + packet.ljust(INJECT_MAX, b"\0"), [fd.fileno()])


any4 = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
any4.bind(("", 0))
any6 = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
any6.bind(("::", 0))
refused("a packet for the victim", inject(mine, own, victim))
refused("a packet longer than the request", inject(mine, own, port, length=INJECT_MAX + 1))
refused("a packet to another host", inject(any4, other, any4.getsockname()[1]))
refused("a packet to another host, as its own", inject(any4, other, any4.getsockname()[1], src=other))
refused("a packet to everybody", inject(any4, "255.255.255.255", any4.getsockname()[1]))
refused("a packet to nowhere", inject(any4, "198.51.100.1", any4.getsockname()[1]))
refused("a packet to another host by IPv6", inject(any6, other6, any6.getsockname()[1], src="2001:db8::1"))
refused("a packet to a mapped address", inject(any6, "::ffff:" + other, any6.getsockname()[1], src="2001:db8::1"))
if inject(any4, own, any4.getsockname()[1]) != b"" or inject(any6, "::1", any6.getsockname()[1], src="2001:db8::1") != b"":
    print("NOT SENT: a packet for the socket itself")
    failed += 1
for fd in any4, any6:
    fd.settimeout(10)
    print("received from", fd.recvfrom(1)[1][0])
any4.connect((other, 9))
refused("a packet from who is not the peer", inject(any4, own, any4.getsockname()[1]))
refused("to drain the daemon", s.ask("DRAIN"))

# A lease belongs to one process (and one user: lease_user.py).
pid = os.fork()
if pid == 0:
    os._exit(0 if s.ask("UMEM") == -1 else 1)
refused("a child that asks by its parent's connection", -1 if os.waitpid(pid, 0)[1] == 0 else b"")
if isinstance(s.ask("STRAYS", struct.pack("=II", ifindex, 0)), str):
    print("NOT SERVED: the parent after that")
    failed += 1

# Each of these connections would make a line of the log.
for _ in range(300):
    Session().ask("UMEM")

# Floods: connections, requests without reading the answers, half-closed ones.
crowd = [Session() for _ in range(400)]
gone = 0
for c in crowd:
    gone += c.ask("STATUS") == "hung up"
print("of", len(crowd), "connections", gone, "were refused")
failed += gone < len(crowd) - 256
for c in crowd:
    c.s.close()
s = Session()
s.s.setblocking(False)
n = 0
end = time.monotonic() + 10
while time.monotonic() < end:
    try:
        s.send("STATUS")
        n += 1
    except BlockingIOError:
        time.sleep(0.001)
    except ConnectionError:
        break
else:
    print("NOT REFUSED: answers that nobody reads")
    failed += 1
s = Session()
s.s.shutdown(socket.SHUT_WR)
refused("a half-closed connection", s.answer())

# Requests that keep to the rules are answered quickly during the flood and after it.
s = Session()
times = []
for _ in range(2000):
    t = time.perf_counter()
    s.ask("STATUS")
    times.append(time.perf_counter() - t)
print("an answer takes %.0f us (median, from python)" % (sorted(times)[1000] * 1e6))
sys.exit(failed != 0)
