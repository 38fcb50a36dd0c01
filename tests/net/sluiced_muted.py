# SPDX-License-Identifier: BSD-2-Clause
"""sluiced_muted.py SOCKET IFINDEX: a process with a lease and a lane. It says "ready", and for each line that it reads it
asks whether the device is steered still, at once, and prints the answer."""
import array
import os
import socket
import struct
import sys
import time

from leaselib import MAGIC, OPS, VERSION

sock = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
sock.settimeout(30)
sock.connect(sys.argv[1])
PORT = struct.pack("=II", int(sys.argv[2]), 0)
seq = 0


def ask(op, body=b"", fds=()):
    global seq
    seq += 1
    anc = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else []
    sock.sendmsg([struct.pack("=IHHIi", MAGIC, VERSION, OPS[op], seq, 0) + body], anc)
    data = sock.recvmsg(65536, 65536)[0]
    return struct.unpack_from("=IHHIi", data)[4], data[16:]


assert ask("HELLO", b"".ljust(48, b"\0"), [os.open("/proc/self/ns/net", os.O_RDONLY)])[0] == 0
for op, body in (("UMEM", b""), ("PORT_OPEN", PORT), ("LANE_OPEN", PORT)):
    while (err := ask(op, body)[0]) == -28:
        time.sleep(0.02)
    assert err == 0, (op, err)
print("ready", flush=True)
for _ in sys.stdin:
    err, body = ask("PORT_ALIVE", PORT)
    print("alive", err, *struct.unpack_from("=I", body), flush=True)
