# SPDX-License-Identifier: BSD-2-Clause
"""opts.py OWN PEER PORT: TTL, TOS, traffic class and hop limit, set by option and by control message,
and received; values read back; wrong values. A reflector is at PEER PORT."""
from netlib import *

own, peer, port = sys.argv[1], sys.argv[2], int(sys.argv[3])
to = (peer, port)
six = is6(peer)
IP = socket.IPPROTO_IPV6 if six else socket.IPPROTO_IP
TTL, TOS = (IPV6_UNICAST_HOPS, IPV6_TCLASS) if six else (IP_TTL, IP_TOS)
C_TTL = IPV6_HOPLIMIT if six else IP_TTL
R_TTL, R_TOS = (IPV6_RECVHOPLIMIT, IPV6_RECVTCLASS) if six else (IP_RECVTTL, IP_RECVTOS)


def seen(s, control=(), dst=to):
    s.sendmsg([question()], control, 0, dst)
    d = answer(s)
    return d["ttl"], d["tos"]


s = udp(own)
say("default", seen(s), s.getsockopt(IP, TTL), s.getsockopt(IP, TOS))
for ttl in (1, 5, 255):
    s.setsockopt(IP, TTL, ttl)
    say("ttl", ttl, seen(s), s.getsockopt(IP, TTL))
for ttl in (0, 256, -2):
    say("ttl", ttl, attempt(s.setsockopt, IP, TTL, ttl))
s.setsockopt(IP, TTL, -1)
say("ttl -1 is the default:", seen(s))
for tos in (0x10, 0x2e << 2, 0xff, 0):
    s.setsockopt(IP, TOS, tos)
    say("tos", hex(tos), seen(s), s.getsockopt(IP, TOS))
say("by message", seen(s, [(IP, C_TTL, struct.pack("i", 9)), (IP, TOS, struct.pack("i", 0x48))]))
say("not kept", seen(s))
say("wrong message", attempt(seen, s, [(IP, C_TTL, struct.pack("i", 300))]))
c = udp(own)
c.connect(to)
c.setsockopt(IP, TTL, 77)
c.setsockopt(IP, TOS, 0x28)
say("connected", seen(c, dst=None))
c.close()

# Control messages of received datagrams, with and without the option that asks for them.
s.sendto(question(ttl=33, tos=0x38), to)
say("not asked for", recv_meta(s)[1])
s.setsockopt(IP, R_TTL, 1)
s.setsockopt(IP, R_TOS, 1)
say("asked", s.getsockopt(IP, R_TTL), s.getsockopt(IP, R_TOS))
for ttl, tos in ((33, 0x38), (1, 0), (255, 0xfc)):
    s.sendto(question(ttl=ttl, tos=tos), to)
    say("received", sorted(recv_meta(s)[1].items()))
# A buffer too small for the control messages.
s.sendto(question(ttl=33), to)
_, cmsgs, flags, _ = s.recvmsg(1000, socket.CMSG_SPACE(4))
say("small control buffer", len(cmsgs), bool(flags & socket.MSG_CTRUNC))
s.setsockopt(IP, R_TTL, 0)
s.setsockopt(IP, R_TOS, 0)
s.sendto(question(), to)
say("no more", recv_meta(s)[1])

# Options that store a value and have no other effect.
for name in ("SO_BROADCAST", "SO_REUSEADDR", "SO_KEEPALIVE"):
    s.setsockopt(socket.SOL_SOCKET, getattr(socket, name), 1)
    say(name, s.getsockopt(socket.SOL_SOCKET, getattr(socket, name)))
s.setsockopt(socket.SOL_SOCKET, socket.SO_PRIORITY, 5)
say("SO_PRIORITY", s.getsockopt(socket.SOL_SOCKET, socket.SO_PRIORITY), seen(s))
s.setsockopt(socket.SOL_SOCKET, socket.SO_MARK, 7)
say("SO_MARK", s.getsockopt(socket.SOL_SOCKET, socket.SO_MARK), seen(s))
s.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 50000)
s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 60000)
say("buffers", s.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF),
    s.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF))
say("unknown option", attempt(s.setsockopt, socket.SOL_SOCKET, 9999, 1),
    attempt(s.getsockopt, IP, 9999))
say("of another protocol", attempt(s.setsockopt, socket.IPPROTO_TCP, socket.TCP_NODELAY, 1))

# Socket options that tell about a socket that has received, and about its queue.
mem = struct.unpack("9I", s.getsockopt(socket.SOL_SOCKET, 55, 36))
say("SO_INCOMING_CPU", s.getsockopt(socket.SOL_SOCKET, 49) >= 0, "SO_MEMINFO", mem[0], mem[1], mem[3])
s.sendto(b"comes back", to)
select.select([s], [], [], 5)
c = udp(own)
c.connect(to)
c.send(b"one")
c.recv(100)
say("connected", c.getsockopt(socket.SOL_SOCKET, 49) >= 0)
mem = struct.unpack("9I", s.getsockopt(socket.SOL_SOCKET, 55, 36))
say("one waits", mem[0] > 0, mem[8], len(s.getsockopt(socket.SOL_SOCKET, 55, 6)), len(s.recv(100)))

# Has no effect on what a path takes.
if six:
    c.setsockopt(IP, 62, 1)  # IPV6_DONTFRAG
    for i in range(100):
        c.send(b"do not fragment")
        c.recv(100)
    say("IPV6_DONTFRAG", c.getsockopt(IP, 62), attempt(c.send, bytes(3000)))
    c.setsockopt(IP, 62, 0)
    say("fragments", c.send(bytes(3000)), len(c.recv(5000)))
