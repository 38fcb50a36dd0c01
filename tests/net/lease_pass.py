# SPDX-License-Identifier: BSD-2-Clause
"""lease_pass.py SOCKET OWN IFINDEX PEER HOW: a client of sluiced that lets flows pass to the kernel, and waits.
HOW: wait; exec (it becomes another program when it reads a line)."""
import os
import socket
import struct
import sys

from leaselib import call, claim, dial, flow_key, greet

PASS = 4
path, own, ifindex, peer, how = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4], sys.argv[5]
session = dial(path)


def ask(op, body=b"", fds=()):
    err, answer = call(session, op, body, fds)
    assert err == 0, (op, answer)


assert greet(session)[0] == 0
ask("UMEM")
ask("PORT_OPEN", struct.pack("=II", ifindex, 0))
ask("LANE_OPEN", struct.pack("=II", ifindex, 0))
bound = socket.socket()
bound.bind((own, 0))
port = bound.getsockname()[1]
for rport in (7, 8, 9):
    key = flow_key(socket.IPPROTO_TCP, (own, port), (peer, rport))
    ask("CLAIM", claim(ifindex, key, slot=rport, flags=PASS), [bound.fileno()])
print("claimed", flush=True)
sys.stdin.readline()
if how == "exec":
    os.execv("/bin/sleep", ["sleep", "60"])
