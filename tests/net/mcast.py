# SPDX-License-Identifier: BSD-2-Clause
"""mcast.py OWN PEER PORT DEVICE GROUP GROUP2: multicast. A reflector is at PEER PORT, and sends to groups
when it is told to."""
import ctypes

from netlib import *

own, peer, port, device, group, group2 = sys.argv[1:7]
port = int(port)
six = is6(group)
index = socket.if_nametoindex(device)
MCAST_JOIN_SOURCE_GROUP, MCAST_LEAVE_SOURCE_GROUP, MCAST_BLOCK_SOURCE = 46, 47, 43
MCAST_UNBLOCK_SOURCE, MCAST_JOIN_GROUP, MCAST_LEAVE_GROUP = 44, 42, 45
IP_MULTICAST_ALL, IPV6_MULTICAST_ALL = 49, 29
IP = socket.IPPROTO_IPV6 if six else socket.IPPROTO_IP


def sockaddr(addr):
    """struct sockaddr_storage"""
    if six:
        raw = struct.pack("HHI16sI", socket.AF_INET6, 0, 0, socket.inet_pton(socket.AF_INET6, addr), 0)
    else:
        raw = struct.pack("HH4s", socket.AF_INET, 0, socket.inet_aton(addr))
    return raw.ljust(128, b"\0")


def group_req(g, source=None):
    return struct.pack("I4x", index) + sockaddr(g) + (sockaddr(source) if source else b"")


def membership(s, g, join=True):
    if six:
        req = socket.inet_pton(socket.AF_INET6, g) + struct.pack("I", index)
        name = socket.IPV6_JOIN_GROUP if join else socket.IPV6_LEAVE_GROUP
    else:
        req = socket.inet_aton(g) + socket.inet_aton("0.0.0.0") + struct.pack("I", index)
        name = socket.IP_ADD_MEMBERSHIP if join else socket.IP_DROP_MEMBERSHIP
    return attempt(s.setsockopt, IP, name, req)


def receiver(at, to_port=7400):
    s = udp(group, None)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    s.bind((at, to_port))
    return s


ctl = udp(own)


def sent_to(g, text=None, count=1, to_port=7400):
    """Has the peer send to the group; returns when it has sent."""
    ctl.sendto(question(to=[g, to_port], size=100, count=count), (peer, port))
    ask(ctl, (peer, port))


def got(s):
    """The number of datagrams that wait in the socket."""
    n = 0
    s.settimeout(0.3)
    while True:
        try:
            data, sender = s.recvfrom(1000)
            assert data == b"r" * 100 and sender[0] == peer, (data, sender)
            n += 1
        except socket.timeout:
            s.settimeout(TIMEOUT)
            return n


any_addr = "::" if six else "0.0.0.0"
s = receiver(any_addr)
sent_to(group)
say("not joined", got(s))
say("join", membership(s, group), "again", membership(s, group))
sent_to(group, count=10)
say("ten", got(s))
sent_to(group2)
say("of another group", got(s))
say("leave", membership(s, group, False), "again", membership(s, group, False))
sent_to(group)
say("left", got(s))
s.close()

# Bound to the group's address; several sockets in one group, each gets its copy.
socks = [receiver(group), receiver(group), receiver(any_addr)]
say("three join", [membership(x, group) for x in socks])
sent_to(group, count=3)
say("three copies", [got(x) for x in socks])
# Another member of the group, at another port.
other = receiver(group, 7401)
membership(other, group)
sent_to(group)
sent_to(group, to_port=7401)
say("by port", [got(x) for x in socks + [other]])
socks[0].close()
sent_to(group)
say("the first closed", [got(x) for x in socks[1:]])
# A socket in two groups.
say("second group", membership(socks[2], group2))
sent_to(group2, count=2)
sent_to(group)
say("two groups", [got(x) for x in socks[1:]])
for x in socks[1:] + [other]:
    x.close()

# Many sockets.
socks = [receiver(any_addr) for _ in range(100)]
say("a hundred join", {membership(x, group) for x in socks})
sent_to(group, count=2)
said = got(socks[50])
for x in socks:
    x.setblocking(False)


def count(x):
    n = 0
    try:
        while n < 3:
            x.recv(1000)
            n += 1
    except BlockingIOError:
        return n


say("copies of all", said, sorted({count(x) for x in socks[:50] + socks[51:]}))
for x in socks:
    x.close()

# Sources.
s = receiver(any_addr)
elsewhere = "fd00:99::1" if six else "192.0.2.1"
say("join source", attempt(s.setsockopt, IP, MCAST_JOIN_SOURCE_GROUP, group_req(group, elsewhere)))
sent_to(group)
say("from another source", got(s))
say("join ours", attempt(s.setsockopt, IP, MCAST_JOIN_SOURCE_GROUP, group_req(group, peer)))
sent_to(group)
say("from the source", got(s))
say("leave source", attempt(s.setsockopt, IP, MCAST_LEAVE_SOURCE_GROUP, group_req(group, peer)))
sent_to(group)
say("no more", got(s))
s.close()
s = receiver(any_addr)
say("join by number", attempt(s.setsockopt, IP, MCAST_JOIN_GROUP, group_req(group)))
say("block", attempt(s.setsockopt, IP, MCAST_BLOCK_SOURCE, group_req(group, peer)))
sent_to(group)
say("blocked", got(s))
say("unblock", attempt(s.setsockopt, IP, MCAST_UNBLOCK_SOURCE, group_req(group, peer)))
sent_to(group)
say("unblocked", got(s))
say("leave", attempt(s.setsockopt, IP, MCAST_LEAVE_GROUP, group_req(group)))
sent_to(group)
say("left", got(s))
s.close()

# A socket that joined no group, while another socket of this process did: MULTICAST_ALL.
s, t = receiver(any_addr), receiver(any_addr)
membership(s, group)
sent_to(group)
say("multicast_all", got(s), got(t))
t.setsockopt(IP, IPV6_MULTICAST_ALL if six else IP_MULTICAST_ALL, 0)
sent_to(group)
say("without", got(s), got(t))
ask_meta(s)
sent_to(group)
data, meta, _, _ = recv_meta(s)
say("as received", len(data), meta.get("dst"), meta.get("dev") == index, meta.get("ttl"))
t.close()

# Sending: time to live, device, loop.
TTL, LOOP, IF = ((socket.IPV6_MULTICAST_HOPS, socket.IPV6_MULTICAST_LOOP, socket.IPV6_MULTICAST_IF)
                 if six else
                 (socket.IP_MULTICAST_TTL, socket.IP_MULTICAST_LOOP, socket.IP_MULTICAST_IF))
out = udp(own)
out.setsockopt(IP, IF, struct.pack("I", index) if six else
               struct.pack("4s4sI", b"\0" * 4, b"\0" * 4, index))
say("defaults", out.getsockopt(IP, TTL), out.getsockopt(IP, LOOP))


def loops():
    n = 0
    s.settimeout(0.3)
    while True:
        try:
            data, meta, _, sender = recv_meta(s)
            n += sender[0] == own and data == b"own"
        except socket.timeout:
            s.settimeout(TIMEOUT)
            return n


out.sendto(b"own", (group, 7400))
say("looped", loops())
out.setsockopt(IP, LOOP, 0)
out.sendto(b"own", (group, 7400))
say("not looped", loops())
out.setsockopt(IP, LOOP, 1)


def heard():
    """The peer, a member of the group at port 7500, describes the question that it got."""
    out.sendto(question(), (group, 7500))
    d = answer(out)
    return d["dst"], d["ttl"], d["from"]


say("heard", heard())
out.setsockopt(IP, TTL, 7)
say("ttl", out.getsockopt(IP, TTL), heard())
say("unicast ttl", ask(out, (peer, port))["ttl"])
c = udp(own)
c.setsockopt(IP, IF, struct.pack("I", index) if six else
             struct.pack("4s4sI", b"\0" * 4, b"\0" * 4, index))
c.connect((group, 7500))
c.send(question())
say("a connected one gets no answers from the peer's address:", nothing_comes(c))

# The functions of RFC 3678, by which the C library sets options itself.
clib = ctypes.CDLL(None, use_errno=True)
for mode, source in ((0, peer), (0, elsewhere), (1, peer), (1, elsewhere)):  # exclude, include
    s = receiver(any_addr)
    membership(s, group)
    say("setsourcefilter", clib.setsourcefilter(s.fileno(), index, sockaddr(group), 28 if six else 16, mode, 1, sockaddr(source)))
    sent_to(group)
    say("a filter by function", mode, got(s))
    if not six:
        say("setipv4sourcefilter", clib.setipv4sourcefilter(
            s.fileno(), struct.unpack("I", socket.inet_aton(own))[0], struct.unpack("I", socket.inet_aton(group))[0], 1 - mode, 1, socket.inet_aton(source)))
        sent_to(group)
        say("the other way by function", got(s))
    s.close()

# The older options of IPv4, and a filter with more sources than the kernel allows at first.
if not six:
    s = receiver(any_addr)
    mreq = lambda source: socket.inet_aton(group) + socket.inet_aton(own) + socket.inet_aton(source)
    say("IP_ADD_SOURCE_MEMBERSHIP", attempt(s.setsockopt, IP, 39, mreq(elsewhere)), attempt(s.setsockopt, IP, 39, mreq(peer)))
    sent_to(group)
    say("from the source", got(s))
    say("IP_DROP_SOURCE_MEMBERSHIP", attempt(s.setsockopt, IP, 40, mreq(peer)))
    sent_to(group)
    say("dropped", got(s))
    s.close()
    s = receiver(any_addr)
    membership(s, group)
    say("IP_BLOCK_SOURCE", attempt(s.setsockopt, IP, 38, mreq(peer)))
    sent_to(group)
    say("blocked", got(s))
    say("IP_UNBLOCK_SOURCE", attempt(s.setsockopt, IP, 37, mreq(peer)))
    sent_to(group)
    say("unblocked", got(s))
    s.close()
    with open("/proc/sys/net/ipv4/igmp_max_msf", "w") as f:
        f.write("300")
    many = ["192.0.2.%d" % i for i in range(1, 255)]
    for mode, sources in ((1, many + [peer]), (1, many), (0, [peer] + many), (0, many)):  # include, exclude
        s = receiver(any_addr)
        membership(s, group)
        filt = socket.inet_aton(group) + socket.inet_aton(own) + struct.pack("II", mode, len(sources)) + \
            b"".join(map(socket.inet_aton, sources))
        say("IP_MSFILTER", attempt(s.setsockopt, IP, 41, filt))
        sent_to(group)
        say("filtered", mode, len(sources), got(s))
        filt = struct.pack("I4x", index) + sockaddr(group) + struct.pack("II", 1 - mode, len(sources)) + \
            b"".join(map(sockaddr, sources))
        say("MCAST_MSFILTER", attempt(s.setsockopt, IP, 48, filt))
        sent_to(group)
        say("the other way", got(s))
        s.close()
