# SPDX-License-Identifier: BSD-2-Clause
"""pktinfo.py PEER PORT SECOND-OWN ANY DEVICE: PKTINFO received, and used to choose the source address.
SECOND-OWN is a second address of ours, ANY the wildcard. A reflector is at PEER PORT."""
from netlib import *

peer, port, second, any_addr = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4]
to = (peer, port)
s = udp(any_addr, 7300)
index = socket.if_nametoindex(sys.argv[5])
ask_meta(s)


def info(addr, ifindex):
    if is6(peer):
        return [(socket.IPPROTO_IPV6, IPV6_PKTINFO,
                 socket.inet_pton(socket.AF_INET6, addr) + struct.pack("I", ifindex))]
    return [(socket.IPPROTO_IP, IP_PKTINFO, struct.pack("I", ifindex) + socket.inet_aton(addr) +
             b"\0" * 4)]


def facts(meta):
    return meta.get("dst"), meta.get("spec"), meta.get("dev") == index


s.sendto(question(), to)
data, meta, _, sender = recv_meta(s)
say("by route: source", json.loads(data)["from"], "answer to", facts(meta), sender[:2])
s.sendmsg([question()], info(second, 0), 0, to)
data, meta, _, _ = recv_meta(s)
say("chosen source:", json.loads(data)["from"], "answer to", facts(meta))
s.sendmsg([question()], info(second, index), 0, to)
data, meta, _, _ = recv_meta(s)
say("source and device:", json.loads(data)["from"], facts(meta))
s.sendmsg([question()], info(any_addr, index), 0, to)
data, meta, _, _ = recv_meta(s)
say("device alone:", json.loads(data)["from"], facts(meta))
say("not ours:", attempt(s.sendmsg, [question()],
                         info("fd00:99::9" if is6(peer) else "192.0.2.99", 0), 0, to))
say("no such device:", attempt(s.sendmsg, [question()], info(any_addr, 9999), 0, to))
say("loopback's:", attempt(s.sendmsg, [b"x"], info(any_addr, 1), 0, to))
s.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, socket.if_indextoname(index).encode())
say("bound to a device, another one's:", attempt(s.sendmsg, [b"x"], info(any_addr, 1), 0, to),
    attempt(s.sendmsg, [b"x"], info(any_addr, index), 0, to))
c = udp(second)
c.connect(to)
say("connected, no such device:", attempt(c.sendmsg, [b"x"], info(any_addr, 9999)), attempt(c.sendmsg, [b"x"], info(any_addr, index)))
