# SPDX-License-Identifier: BSD-2-Clause
"""mcreflector.py DEVICE GROUP PORT ANSWER-FROM: a member of the group; answers questions sent to the group, from a
socket of its own."""
from netlib import *

device, group, port, own = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]
index = socket.if_nametoindex(device)
s = udp(group, port)
if is6(group):
    s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_JOIN_GROUP,
                 socket.inet_pton(socket.AF_INET6, group) + struct.pack("I", index))
else:
    s.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP,
                 socket.inet_aton(group) + b"\0" * 4 + struct.pack("I", index))
ask_meta(s)
out = udp(own)
s.settimeout(None)
while True:
    data, meta, _, sender = recv_meta(s)
    out.sendto(json.dumps({"len": len(data), "from": sender[0], "dst": meta.get("dst"),
                           "ttl": meta.get("ttl"), "tos": meta.get("tos")}).encode(), sender)
