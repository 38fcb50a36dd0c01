# SPDX-License-Identifier: BSD-2-Clause
"""connect.py OWN PEER PORT: what connect() does on a UDP socket. Reflectors are at PEER PORT and PORT + 1; no socket
is at PORT + 99."""
import ctypes

from netlib import *

own, peer, port = sys.argv[1], sys.argv[2], int(sys.argv[3])
libc = ctypes.CDLL(None, use_errno=True)


def disconnect(s):
    return libc.connect(s.fileno(), struct.pack("H14x", socket.AF_UNSPEC), 16)


s = udp(own, 7100)
s.connect((peer, port))
say("from", ask(s, None)["from"], s.getsockname()[:2])
s.send(question(from_port=port + 1))
say("others do not reach it:", nothing_comes(s))
s.connect((peer, port + 1))
say("connected anew", ask(s, None)["port"], s.getpeername()[:2])
s.send(question(from_port=port))
say("the old peer does not reach it:", nothing_comes(s))
say("sendto elsewhere", ask(udp(own), (peer, port))["port"])
s.sendto(question(from_port=port + 1), (peer, port))
say("sendto of a connected one", answer(s)["port"])
say("disconnect", disconnect(s), attempt(s.getpeername), attempt(s.send, b"x"))
s.close()

s = udp(own, 7101)
s.connect((peer, port))
ask(s, None)
disconnect(s)
s2 = udp(own, None)
s2.bind((own, 0))
s2.connect((peer, port))
say("two beside each other", ask(s2, None)["port"])
s2.close()
s.close()

# A socket has no local address until connect() gives it one.
s = udp(peer, None)
s.connect((peer, port))
say("address by connect", s.getsockname()[0], ask(s, None)["from"])
s.close()

# No socket at the peer's port: ICMP reports it as ECONNREFUSED.
s = udp(own)
s.connect((peer, port + 99))
s.send(b"x")
say("refused", attempt(s.recv, 100), attempt(s.getsockopt, socket.SOL_SOCKET, socket.SO_ERROR))
s.send(b"x")
p = select.poll()
p.register(s, select.POLLIN)
ev = p.poll(TIMEOUT * 1000)[0][1]
say("poll", bool(ev & select.POLLERR))
say("SO_ERROR", name_of(s.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)),
    s.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR))
s.send(b"x")
p.poll(TIMEOUT * 1000)
say("the next send says it", attempt(s.send, b"y"))
s.connect((peer, port))
say("lives on", ask(s, None)["port"])
s.close()

s = udp(own)
s.sendto(b"x", (peer, port + 99))
say("an unconnected one is not told:", nothing_comes(s), ask(s, (peer, port))["port"])
level, name = (socket.IPPROTO_IPV6, IPV6_RECVERR) if is6(peer) else (socket.IPPROTO_IP, IP_RECVERR)
s.setsockopt(level, name, 1)
s.sendto(b"who is there", (peer, port + 99))
p = select.poll()
p.register(s, select.POLLIN)
ev = p.poll(TIMEOUT * 1000)[0][1]
say("with RECVERR it is: POLLERR", bool(ev & select.POLLERR))
say("recv", attempt(s.recv, 100))
data, cmsgs, flags, to = s.recvmsg(1000, 1000, socket.MSG_ERRQUEUE)
err, origin, kind, code = struct.unpack("IBBB", cmsgs[0][2][:7])
say("error queue", data, name_of(err), origin, kind, code, to[:2], bool(flags & socket.MSG_ERRQUEUE))
s.close()
