# SPDX-License-Identifier: BSD-2-Clause
# A client of sluiced that makes up VXLAN devices, VNIs, numbers and frames.
# Usage: lease_vxlan.py SOCKET OWN-ADDRESS IFINDEX VXLAN-42 FORBIDDEN-VXLAN-43 MAC-OF-42   (ifindexes)
# Exit status 0 when the daemon refused what it must refuse, and gave what it may.
import socket, struct, sys

import leaselib
from leaselib import OPS, Session, check, given, refused

MOST = 9216 + 8  # SL_INJECT_MAX
path, own = sys.argv[1:3]
low, vx, forbidden = map(int, sys.argv[3:6])
mac = bytes.fromhex(sys.argv[6].replace(":", ""))


def tag(vni):
    return 1 << 30 | vni & 0xFFF | (vni & 0xFFF000) << 4


def claim(port, vlan, nr, flags=0, addr=own):
    key = bytes(10) + b"\xff\xff" + socket.inet_aton(addr) + bytes(16)
    key += struct.pack("=HHBBBBI", port, 0, socket.IPPROTO_UDP, 0, 0, 0, vlan)
    return struct.pack("=II", low, 0) + key + struct.pack("=IIIII", lane, 1, 1, flags | nr << 26, 0) + bytes(8)


def send(lower, nr, frame, n=None):
    return s.ask(OPS["VXLAN_SEND"], struct.pack("=III", lower, nr, len(frame) if n is None else n) + frame.ljust(MOST, b"\0"))


s = Session(path)
refused("a number before the device", s.get(low, vx, tag(42)))
s.must(OPS["UMEM"])
s.must(OPS["PORT_OPEN"], struct.pack("=II", low, 0))
lane = struct.unpack_from("=I", s.must(OPS["LANE_OPEN"], struct.pack("=II", low, 0)))[0]
mine = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
mine.bind((own, 0))
port, fds = mine.getsockname()[1], [mine.fileno()]
frame = b"\x02\0\0\0\0\x99" + mac + b"\x88\xb5" + b"from the daemon's client".ljust(46, b"\0")

for what, args in (("another VNI", (low, vx, tag(43))), ("no VNI", (low, vx, 42)), ("the VXLAN device as the one below", (vx, vx, tag(42))),
                   ("the device itself", (low, low, tag(42))), ("a device that the policy does not give", (low, forbidden, tag(43)))):
    refused("to number " + what, s.get(*args))
for nr in 0, 1, 2, 63, 64, 65, 2**32 - 1:
    refused(f"to send by {nr}, which it does not have", send(low, nr, frame))
refused("a VNI without its number", s.ask(OPS["CLAIM"], claim(port, tag(42), 0), fds))
refused("a VNI with another session's number", s.ask(OPS["CLAIM"], claim(port, tag(42), 1), fds))
nr = given("to number a shared device", s.get(low, vx, tag(42)))
check("once more it is the same", given("again", s.get(low, vx, tag(42))) == nr, nr)
refused("to leave what others have", s.vlan(OPS["VLAN_LEAVE"], low, nr, 1))
refused("to claim another VNI by it", s.ask(OPS["CLAIM"], claim(port, tag(43), nr), fds))
refused("to claim the tag of that number by it", s.ask(OPS["CLAIM"], claim(port, 42, nr), fds))
for what, args in (("another's address as its source", (low, nr, frame[:6] + b"\x02\0\0\0\0\x98" + frame[12:])),
                   ("no whole header", (low, nr, frame[:13])), ("no byte", (low, nr, b"")), ("more bytes than there are", (low, nr, frame, MOST + 1)),
                   ("a length that wraps", (low, nr, frame, 2**32 - 1)), ("the device below by it", (vx, nr, frame))):
    refused("to send a frame of " + what, send(*args))
given("to send a frame", send(low, nr, frame))
given("to claim", s.ask(OPS["CLAIM"], claim(port, tag(42), nr), fds))
refused("to free a number with a claim", s.vlan(OPS["VLAN_PUT"], low, nr))
given("to give the claim up", s.ask(OPS["UNCLAIM"], claim(port, tag(42), nr)))
given("to free the number", s.vlan(OPS["VLAN_PUT"], low, nr))
refused("to send by it then", send(low, nr, frame))
print("ok: the end" if not leaselib.failed else f"{leaselib.failed} failed")
sys.exit(leaselib.failed != 0)
