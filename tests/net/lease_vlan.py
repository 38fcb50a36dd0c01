# SPDX-License-Identifier: BSD-2-Clause
# A client of sluiced that makes up VLAN devices, tags and numbers.
# Usage: lease_vlan.py SOCKET OWN-ADDRESS IFINDEX VLAN-5 VLAN-6 FORBIDDEN-VLAN-7   (ifindexes; other processes use the first two)
# Exit status 0 when the daemon refused what it must refuse, and gave what it may.
import socket, struct, sys

import leaselib
from leaselib import OPS, Session, check, given, refused

UMEM, PORT_OPEN, LANE_OPEN, CLAIM, UPDATE, UNCLAIM, NEIGH, VLAN_PUT, VLAN_LEAVE = map(OPS.get, (
    "UMEM", "PORT_OPEN", "LANE_OPEN", "CLAIM", "CLAIM_UPDATE", "UNCLAIM", "NEIGH", "VLAN_PUT", "VLAN_LEAVE"))
PASS = 4
path, own = sys.argv[1:3]
low, five, six, seven = map(int, sys.argv[3:7])


def claim(port, tag, nr, flags=0, addr=own):
    key = bytes(10) + b"\xff\xff" + socket.inet_aton(addr) + bytes(16)
    key += struct.pack("=HHBBBBI", port, 0, socket.IPPROTO_UDP, 0, 0, 0, tag)
    return struct.pack("=II", low, 0) + key + struct.pack("=IIIII", lane, 1, 1, flags | nr << 26, 0) + bytes(8)


s = Session(path)
refused("a number before the device", s.get(low, five, 5))
s.must(UMEM)
s.must(PORT_OPEN, struct.pack("=II", low, 0))
lane = struct.unpack_from("=I", s.must(LANE_OPEN, struct.pack("=II", low, 0)))[0]
mine = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
mine.bind((own, 0))
port, fds = mine.getsockname()[1], [mine.fileno()]

# Made-up devices and tags.
for what, args in (("no device", (low, 0, 5)), ("a device that is not there", (low, 99999, 5)),
                   ("a number beyond all", (low, 2**32 - 1, 5)), ("the device itself", (low, low, 5)),
                   ("the loopback device", (low, 1, 5)), ("another device below", (1, five, 5)),
                   ("a VLAN device as the device below", (five, six, 6)), ("no device below", (0, five, 5)),
                   ("another device's tag", (low, five, 6)), ("no tag", (low, five, 0)),
                   ("two tags", (low, five, 5 << 16 | 5)), ("a tag of 802.1ad", (low, five, 0x8005)),
                   ("a device that the policy does not give", (low, seven, 7))):
    refused("to number " + what, s.get(*args))

# Claims and requests with numbers that the session does not have: other sessions have 1 and 2.
for what, tag, nr, flags in (("a tag without its number", 5, 0, 0), ("a tag with another's number", 5, 1, 0),
                             ("a number without a tag", 0, 1, 0), ("a made-up number", 5, 63, 0),
                             ("a tag that nobody has", 9, 9, 0), ("two tags", 5 << 16 | 5, 1, 0),
                             ("a flow that passes", 5, 0, PASS), ("a flow that passes, numbered", 5, 1, PASS)):
    refused("to claim " + what, s.ask(CLAIM, claim(port, tag, nr, flags), fds))
for nr in 0, 1, 2, 3, 63, 64, 65, 2**32 - 1:
    refused(f"to leave {nr}", s.vlan(VLAN_LEAVE, low, nr, 1))
    refused(f"to end the leave of {nr}", s.vlan(VLAN_LEAVE, low, nr, 0))
    refused(f"to free {nr}", s.vlan(VLAN_PUT, low, nr))
refused("a neighbour of it", s.ask(NEIGH, struct.pack("=I", five) + bytes(10) + b"\xff\xff" + socket.inet_aton(own)))

# The daemon gives it numbers of devices that others use, too.
nr = given("to number a shared device", s.get(low, five, 5))
check("once more it is the same", given("again", s.get(low, five, 5)) == nr, nr)
refused("to leave what others have", s.vlan(VLAN_LEAVE, low, nr, 1))
refused("to claim another tag by it", s.ask(CLAIM, claim(port, 6, nr), fds))
refused("to claim no tag by it", s.ask(CLAIM, claim(port, 0, nr), fds))
other = given("to number the other device", s.get(low, six, 6))
check("it is another number", other and other != nr, other)
refused("to claim by the numbers changed", s.ask(CLAIM, claim(port, 6, nr), fds))
bound = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
bound.setsockopt(socket.SOL_SOCKET, 62, six)  # SO_BINDTOIFINDEX
bound.bind((own, 0))
refused("to claim for a socket that is bound to the other device",
        s.ask(CLAIM, claim(bound.getsockname()[1], 5, nr), [bound.fileno()]))
group = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
group.bind(("239.7.7.7", 0))
group.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, socket.inet_aton("239.7.7.7") + struct.pack("=Ii", 0, five))
there = group.getsockname()[1]
refused("to claim a group on the other device", s.ask(CLAIM, claim(there, 6, other, 0, "239.7.7.7"), [group.fileno()]))
given("to claim a group", s.ask(CLAIM, claim(there, 5, nr, 0, "239.7.7.7"), [group.fileno()]))
given("to give the group up", s.ask(UNCLAIM, claim(there, 5, nr, 0, "239.7.7.7")))
given("to claim", s.ask(CLAIM, claim(port, 5, nr), fds))
refused("to change the claim's number", s.ask(UPDATE, claim(port, 5, other)))
refused("to free a number with a claim", s.vlan(VLAN_PUT, low, nr))
given("to give the claim up", s.ask(UNCLAIM, claim(port, 5, nr)))
given("to free the number", s.vlan(VLAN_PUT, low, nr))
refused("to free it twice", s.vlan(VLAN_PUT, low, nr))
refused("to claim by it then", s.ask(CLAIM, claim(port, 5, nr), fds))
print("ok: the end" if not leaselib.failed else f"{leaselib.failed} failed")
sys.exit(leaselib.failed != 0)
