# SPDX-License-Identifier: BSD-2-Clause
"""lease_pass.py SOCKET OWN IFINDEX PEER HOW: a client of sluiced that lets flows pass to the kernel, and waits.
HOW: wait; exec (it becomes another program when it reads a line)."""
import os
import socket
import struct
import sys

from leaselib import MAGIC, VERSION

HELLO, UMEM, PORT_OPEN, LANE_OPEN, CLAIM = 1, 2, 3, 10, 13
PASS = 4
path, own, ifindex, peer, how = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4], sys.argv[5]
session = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
session.connect(path)
session.settimeout(20)


def ask(op, body=b"", fds=()):
    socket.send_fds(session, [struct.pack("=IHHIi", MAGIC, VERSION, op, 7, 0) + body], fds)
    data, fds, _, _ = socket.recv_fds(session, 65536, 64)
    for fd in fds:
        os.close(fd)
    assert struct.unpack_from("=IHHIi", data)[4] == 0, (op, data[16:])


def mapped(addr):
    return bytes(10) + b"\xff\xff" + socket.inet_aton(addr)


ask(HELLO, bytes(48), [os.open("/proc/self/ns/net", os.O_RDONLY)])
ask(UMEM)
ask(PORT_OPEN, struct.pack("=II", ifindex, 0))
ask(LANE_OPEN, struct.pack("=II", ifindex, 0))
bound = socket.socket()
bound.bind((own, 0))
port = bound.getsockname()[1]
for rport in (7, 8, 9):
    key = mapped(own) + mapped(peer) + struct.pack("=HHBBBBI", port, rport, socket.IPPROTO_TCP, 0, 0, 0, 0)
    ask(CLAIM, struct.pack("=II", ifindex, 0) + key + struct.pack("=IIIII", 0, rport, 1, PASS, 0) + bytes(8), [bound.fileno()])
print("claimed", flush=True)
sys.stdin.readline()
if how == "exec":
    os.execv("/bin/sleep", ["sleep", "60"])
