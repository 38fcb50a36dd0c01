# SPDX-License-Identifier: BSD-2-Clause
"""lease_strangers.py serve ADDRESS PORT: a server of UDP and TCP on one port, which echoes.
lease_strangers.py use ADDRESS PORT FILE: uses it without end, and keeps in FILE how often it was answered and how often not.
lease_strangers.py attack SOCKET ADDRESS PORT IFINDEX PID UID PEER PORT NETNS: as root. Copies the descriptors of the server (PID), becomes
another user (UID), and sends the daemon each request of lease.def with the server's names, numbers and descriptors: as
a member of the server's group that has the device, too; as a process of another group; by the connection of another
process. Prints a line for each."""
import ctypes
import errno
import os
import select
import socket
import struct
import sys
import time

import leaselib
from leaselib import OPS, dial, flow_key, mapped, message, receive, send

OK = 0
GROUP, PASS, REPLACE = 2, 4, 2
INJECT_MAX = 9224
FRAME_MAX = 9224
libc = ctypes.CDLL(None, use_errno=True)


def serve(host, port):
    udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    udp.bind((host, port))
    tcp = socket.create_server((host, port))
    socks = [udp, tcp]
    while True:
        for s in select.select(socks, [], [])[0]:
            if s is tcp:
                socks.append(s.accept()[0])
            elif s is udp:
                data, peer = s.recvfrom(2000)
                s.sendto(data, peer)
            else:
                s.sendall(s.recv(2000))


def use(host, port, path):
    tcp = socket.create_connection((host, port), timeout=5)
    udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    udp.settimeout(5)
    udp.connect((host, port))
    n, lost = 0, 0
    while True:
        n += 1
        for s in udp, tcp:
            try:
                s.send(b"%08d" % n)
                lost += s.recv(8) != b"%08d" % n
            except OSError:
                lost += 1
        with open(path + ".new", "w") as f:
            f.write(f"{n} {lost}\n")
        os.rename(path + ".new", path)
        time.sleep(0.002)


class Session:
    def __init__(self, group, program=b"", netns="/proc/self/ns/net"):
        self.s = dial(path)
        self.got = []
        ns = os.open(netns, os.O_RDONLY) if isinstance(netns, str) else os.dup(netns)
        self.hello = self.ask("HELLO", group.encode().ljust(32, b"\0") + program.ljust(16, b"\0"), [ns])
        os.close(ns)

    def ask(self, op, body=b"", fds=()):
        """0, the error, or "hung up"; the answer is in self.body and self.got."""
        try:
            send(self.s, message(op, body), fds)
            err, self.body, self.got = receive(self.s)
        except ConnectionError:
            return "hung up"
        if err == "hung up":
            return err
        if err and any(self.body[self.body.index(0) :]):
            print(op, "is refused with what others have asked or been told:", self.body.strip(b"\0"))
        return struct.unpack_from("=i", self.body)[0] if op == "TAKE" and not err else err

    def join(self):
        """A lease on the device, with a lane. (The daemon has the last one's frames for a moment still.)"""
        for op, body in (("UMEM", b""), ("PORT_OPEN", PORT), ("LANE_OPEN", PORT)):
            end = time.monotonic() + 10
            while (err := self.ask(op, body)) == -errno.ENOSPC and time.monotonic() < end:
                time.sleep(0.02)
            assert err == OK, (op, self.body)
        return self


def copies(pid):
    """The server's sockets: UDP, listener, connection."""
    pidfd = libc.syscall(434, pid, 0)  # pidfd_open
    found = {}
    for name in sorted(os.listdir(f"/proc/{pid}/fd"), key=int):
        fd = libc.syscall(438, pidfd, int(name), 0)  # pidfd_getfd
        if fd < 0:
            continue
        try:
            s = socket.socket(fileno=fd)
            if s.family == socket.AF_INET and s.type == socket.SOCK_DGRAM and s.getsockname()[1] == port:
                found["udp"] = s
            elif s.family == socket.AF_INET and s.type == socket.SOCK_STREAM:
                found["listener" if s.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN) else "conn"] = s
        except OSError:
            pass
    return found


def cases(fds):
    """Request by request: bodies and descriptors that name what is the server's."""
    udp, listener, conn = (fds[k].fileno() for k in ("udp", "listener", "conn"))
    peer, rport = fds["peer"]

    def claim(proto, remote=None, flags=0, how=0, lane=0):
        return leaselib.claim(ifindex, flow_key(proto, (own, port), remote), lane, flags=flags, how=how)

    image = mapped(own) + mapped(peer) + struct.pack("=HHI", port, rport, 0)
    image += struct.pack("=7I", 1000, 2000, 2000, 65535, 65535, 65535, 2000) + struct.pack("=7I", 0, 0, 0, 87040, 131072, 0, 0)
    image = struct.pack("=I", 1) + image + struct.pack("=HHBBBB", 1460, 1, 1, 7, 7, 0) + struct.pack("=IIHH", 0, 0, 0, 0)
    packet = struct.pack("!HHHH", 53, port, 8, 0)
    packet = struct.pack("!BBHHHBBH", 0x45, 0, 28, 0, 0, 64, 17, 0) + socket.inet_aton(peer) + socket.inet_aton(own) + packet
    packet = struct.pack("=II", len(packet), 0) + packet.ljust(INJECT_MAX, b"\0")
    own_udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    own_udp.bind((own, 0))
    keep.append(own_udp)
    mine = own_udp.fileno()
    none, any_ = (b"", ()), (PORT, ())
    lane = struct.pack("=II", ifindex, 1)
    vlan = struct.pack("=III", ifindex, 1, 1)
    memfd = os.memfd_create("x")
    os.write(memfd, bytes(4096))
    flow = (peer, rport)
    UDP, TCP = socket.IPPROTO_UDP, socket.IPPROTO_TCP
    return {
        # (A second greeting, for a group that only the server's user may join, ends the connection.)
        "HELLO": [(b"secret".ljust(48, b"\0"), [os.open("/proc/self/ns/net", os.O_RDONLY)])],
        "UMEM": [none], "PORT_OPEN": [any_], "PORT_CLOSE": [any_], "PORT_ALIVE": [any_], "PORT_TAGS": [any_],
        "VLAN_LEAVE": [(vlan, ())], "UNGUARD": [any_], "STRAYS": [any_],
        "LANE_OPEN": [any_], "LANE_BIND": [any_, (lane, ())], "LANE_CLOSE": [(lane, ())],
        "CLAIM": [(claim(UDP, how=how, flags=flags), [fd]) for how in (0, REPLACE) for flags in (0, PASS) for fd in (udp, mine)]
        + [(claim(TCP, remote, how=how), [fd]) for how in (0, REPLACE) for remote in (None, flow) for fd in (listener, conn)],
        "CLAIM_UPDATE": [(claim(UDP), ()), (claim(UDP, lane=1), ()), (claim(TCP), ()), (claim(TCP, flow), ())],
        "UNCLAIM": [(claim(UDP), ()), (claim(TCP), ()), (claim(TCP, flow), ())],
        "RESTORE": [(image, [conn, conn]), (image, [listener, memfd])],
        "RESTORED": [(struct.pack("=I", 1), ())],
        "TAKE": [(b"", [conn]), (b"", [listener])],
        "DROP": [(struct.pack("=I", 1), [conn]), (struct.pack("=I", 0), [conn]), (struct.pack("=I", 1), [udp])],
        "INJECT": [(packet, [mine]), (packet, [conn]), (packet, [udp])],
        "NEIGH": [(struct.pack("=I", ifindex) + mapped(peer), ())],
        "CONNS": [(struct.pack("=14I", 64, 64, 0, 8, 9, 0, 16, 32, 34, 40, 48, 52, 56, 1) + bytes(24), [memfd])],
        "HOLDERS": [(b"", [conn])],
        "HEIR": [(b"", [conn]), (b"", [listener])],
        "BUFFER": [(struct.pack("=iI", opt, 1 << 30), [fd]) for opt in (32, 33) for fd in (conn, listener)],
        "BOX": [(struct.pack("=I", 0), [mine, listener]), (struct.pack("=I", 0), [listener, listener])],
        "UNBOX": [(struct.pack("=I", n), ()) for n in range(8)],
        "VLAN_GET": [(vlan, ())], "VLAN_PUT": [(vlan, ())],
        "VXLAN_SEND": [(struct.pack("=III", ifindex, nr, 60) + bytes(FRAME_MAX), ()) for nr in (0, 1, 2)],
        "STATUS": [none], "SHOW_PORT": [(struct.pack("=I", 0), ())], "SHOW_LEASE": [(struct.pack("=I", 0), ())],
        "DRAIN": [none],
    }


# Served: of a member the own device, own lane, own record of connections and what anybody may know; with a copy of a connection the number of its
# references.
MEMBER = {"PORT_ALIVE", "PORT_TAGS", "UNGUARD", "STRAYS", "NEIGH", "HOLDERS", "STATUS", "SHOW_PORT", "SHOW_LEASE",
          "PORT_OPEN", "PORT_CLOSE", "UMEM", "CONNS"}
OTHER = {"PORT_ALIVE", "HOLDERS", "STATUS", "SHOW_PORT", "SHOW_LEASE", "UMEM", "CONNS"}


def attack(who, session, all_cases, served):
    for op in OPS:
        if op not in all_cases:
            print(f"{who}: {op}: no case")
            continue
        for i, (body, fds) in enumerate(all_cases[op]):
            s = session()
            ret = s.ask(op, body, fds)
            for fd in s.got:
                os.close(fd)
            s.s.close()
            if ret == OK and op not in served:
                print(f"{who}: {op} ({i}): served")
            elif ret != OK and op in ("STATUS", "SHOW_PORT"):
                print(f"{who}: {op} ({i}): {ret} {s.body}")
            elif ret != OK and not (ret == "hung up" or ret < 0):
                print(f"{who}: {op} ({i}): {ret}")
            else:
                done.add((who, op))


def with_sockets_of_its_own(packet):
    """What a copy does not get is served with the user's own sockets: so the refusals are for the socket's user."""
    s = Session("")
    tcp, udp = socket.socket(), socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    udp.bind((own, 0))
    udp.settimeout(5)
    packet = bytearray(packet)
    packet[8 + 22 : 8 + 24] = struct.pack("!H", udp.getsockname()[1])
    if any(s.ask("BUFFER", struct.pack("=iI", opt, 1 << 29), [tcp.fileno()]) for opt in (32, 33)):
        print("an own socket's buffers are not widened:", s.body)
    if tcp.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF) != 128 << 20:
        print("an own socket's buffer is not the largest that there may be")
    if any(s.ask("DROP", struct.pack("=I", on), [tcp.fileno()]) for on in (1, 0)):
        print("an own socket's packets are not dropped:", s.body)
    if s.ask("INJECT", bytes(packet), [udp.fileno()]):
        print("no packet for an own socket:", s.body)
    elif udp.recvfrom(9)[1][1] != 53:
        print("a strange packet for an own socket")


def with_a_narrow_policy(all_cases, other_netns):
    """`join * repair no flows 1 lanes 1 clients 2 device DEV`: with sockets of its own a user gets nothing of repair, one
    flow, one lane, two leases and that device; no group's name that is the daemon's. What makes no sense is refused to
    all."""
    become(uid + 1)
    for what, ret, want in (("another user's group", Session("uid:65534").hello, errno.EINVAL),
                            ("another namespace", Session("", netns=other_netns).hello, errno.EXDEV)):
        if ret != -want:
            print("a greeting for", what, ret)
    s = Session("shared", b"\x1b[2Jred").join()
    lane = struct.unpack_from("=I", s.body)[0]
    if (ret := s.ask("LANE_OPEN", struct.pack("=II", ifindex, 1))) != -errno.EDQUOT:
        print("a second lane:", ret)
    for device in (i for i, _ in socket.if_nameindex() if i != ifindex):
        if (ret := s.ask("PORT_OPEN", struct.pack("=II", device, 0))) not in (-errno.EPERM, -errno.ENODEV):  # (gone by now)
            print("another device:", device, ret)
    more = [Session("") for _ in range(2)]
    if (got := [m.hello for m in more]) != [OK, -errno.EUSERS]:
        print("two leases more:", got)
    tcp, udp = socket.create_server((own, 0)), socket.socket(type=socket.SOCK_DGRAM)
    udp.bind((own, 0))
    here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    packet = bytearray(all_cases["INJECT"][0][0])
    packet[8 + 22 : 8 + 24] = struct.pack("!H", udp.getsockname()[1])
    for op, body, fds in (("DROP", struct.pack("=I", 1), [tcp]), ("INJECT", bytes(packet), [udp]), ("BOX", bytes(4), [here, tcp]),
                          ("BUFFER", struct.pack("=iI", 32, 4096), [tcp]), ("TAKE", b"", [tcp]),
                          ("RESTORE", all_cases["RESTORE"][0][0], [tcp, tcp])):
        ret = s.ask(op, body, [f.fileno() for f in fds])
        if ret != -errno.EPERM or (op == "RESTORE" and b"policy" not in s.body):
            print("without repair:", op, ret, s.body)

    def claim(remote=0, proto=socket.IPPROTO_UDP, flags=0, sport=udp.getsockname()[1]):
        key = flow_key(proto, (own, sport), (have["peer"][0], remote) if remote else None)
        return s.ask("CLAIM", leaselib.claim(ifindex, key, lane, flags=flags), [udp.fileno()])

    for what, ret in (("no protocol of ours", claim(proto=1)), ("no port", claim(sport=0)), ("another's place in a group", claim(flags=GROUP))):
        if ret != -errno.EINVAL:
            print("a claim of", what, ret)
    for addr in ("224.0.0.1", "0.0.0.0"):
        if (ret := s.ask("NEIGH", struct.pack("=I", ifindex) + mapped(addr))) != -errno.EINVAL:
            print("a neighbour", addr, ret)
    if (got := (claim(), claim(9, flags=PASS))) != (OK, -errno.EDQUOT):
        print("with one flow:", got)
    shown = b""
    for n in [*range(32)] * 4:  # (a session that ends meanwhile moves those behind it one place up)
        shown += s.body if s.ask("SHOW_LEASE", struct.pack("=I", n)) == OK else b""
    if b"?[2Jred" not in shown:
        print("shown:", shown)
    print("narrow: done", flush=True)


def become(user):
    os.setgroups([])
    os.setresgid(user, user, user)
    os.setresuid(user, user, user)
    libc.prctl(4, 1)  # PR_SET_DUMPABLE: /proc/self is this user's


def owner(way):
    """Has a lease, lends its connection, and says in the end whether it is served still."""
    become(uid)
    s = Session("shared").join()
    socket.send_fds(way, [b"x"], [s.s.fileno()])
    way.recv(1)
    if s.ask("STRAYS", PORT) != OK:
        print("by another's connection: its own process is served no more", flush=True)
    way.send(b"x")


def by_connection_of_another(all_cases):
    """A process of another user has the connection of a process: nothing is served, the lease goes on."""
    here, there = socket.socketpair()
    if os.fork() == 0:
        owner(there)
        os._exit(0)
    there.close()
    s = Session.__new__(Session)
    s.s = socket.socket(fileno=socket.recv_fds(here, 1, 1)[1][0])
    s.s.settimeout(20)
    if os.fork() == 0:
        become(uid + 1)
        print_done(s, all_cases)
        os._exit(0)
    if os.wait()[1]:
        print("by another's connection: not done")
    here.send(b"x")
    here.recv(1)


def print_done(s, all_cases):
    for op in OPS:
        for i, (body, fds) in enumerate(all_cases.get(op, ())):
            ret = s.ask(op, body, fds)
            if ret != -errno.EPERM:
                print(f"by another's connection: {op} ({i}): {ret}", flush=True)


if sys.argv[1] == "serve":
    serve(sys.argv[2], int(sys.argv[3]))
elif sys.argv[1] == "use":
    use(sys.argv[2], int(sys.argv[3]), sys.argv[4])
path, own, port, ifindex, pid, uid = sys.argv[2], sys.argv[3], *map(int, sys.argv[4:8])
PORT = struct.pack("=II", ifindex, 0)
keep, done = [], set()
have = copies(pid)
have["peer"] = (sys.argv[8], int(sys.argv[9]))
all_cases = cases(have)
def sizes():
    return [have[k].getsockopt(socket.SOL_SOCKET, opt) for k in ("listener", "conn") for opt in (socket.SO_SNDBUF, socket.SO_RCVBUF)]


before = sizes()
by_connection_of_another(all_cases)
spaces = [os.open(p, os.O_RDONLY) for p in ("/proc/self/ns/net", sys.argv[10])]
libc.setns(spaces[1], 0)
other_netns = os.open("/proc/self/ns/net", os.O_RDONLY)  # (by its path it is a file)
libc.setns(spaces[0], 0)
if os.fork() == 0:
    with_a_narrow_policy(all_cases, other_netns)
    os._exit(0)
os.wait()
become(uid)
attack("a member", lambda: Session("shared").join(), all_cases, MEMBER)
attack("another group's", lambda: Session(""), all_cases, OTHER)
if sizes() != before:
    print("sizes of the server's buffers were", before, "and are", sizes())
with_sockets_of_its_own(all_cases["INJECT"][0][0])
print("refused to", "secret" if Session("secret").hello != OK else "nobody")
print("cases", sum(("a member", op) in done and ("another group's", op) in done for op in OPS), "of", len(OPS))
