# SPDX-License-Identifier: BSD-2-Clause
"""hostile_memory.py claims|lanes SOCKET DEVICE ADDRESS: as root. One user takes what it can get of the daemon's memory,
then another one asks for a lease and for 100 claims. Says what became of both."""
import os
import socket
import struct
import sys

import leaselib
from leaselib import dial, flow_key, message, receive, send

what, path, device, own = sys.argv[1:]
IFINDEX = socket.if_nametoindex(device)
PORT = struct.pack("=II", IFINDEX, 0)
PASS = 4
LANES = 64
keep = []


class Session:
    def __init__(self, uid):
        os.seteuid(uid)
        self.s = dial(path, 10)
        self.tcp = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        self.tcp.bind((own, 0))
        ns = os.open("/proc/self/ns/net", os.O_RDONLY)
        self.why = self.ask("HELLO", b"shared".ljust(48, b"\0"), [ns])
        os.close(ns)
        for op, body in ("UMEM", b""), ("PORT_OPEN", PORT), ("LANE_OPEN", PORT):
            self.why = self.why or self.ask(op, body)
        os.seteuid(0)
        keep.append(self)

    def ask(self, op, body=b"", fds=()):
        """The reason of a refusal, or an empty string."""
        send(self.s, message(op, body), fds)
        err, answer, got = receive(self.s)
        keep.append(got)
        if err == "hung up":
            return err
        return answer.split(b"\0")[0].decode() if err else ""

    def claim(self, n):
        """Claims a flow that passes, for the n-th peer."""
        key = flow_key(socket.IPPROTO_TCP, self.tcp.getsockname(), (socket.inet_ntoa(struct.pack("!I", 0x0A000000 + n)), 1000))
        return self.ask("CLAIM", leaselib.claim(IFINDEX, key, flags=PASS), [self.tcp.fileno()])


def claims():
    first = Session(1001)
    return first.why or next((why for why in map(first.claim, range(16000)) if why), "")


def lanes():
    why = ""
    for _ in range(16):
        s = Session(1001)
        why = s.why
        for n in range(1, LANES):
            why = why or s.ask("LANE_OPEN", PORT[:4] + struct.pack("=I", n))
        if why:
            break
    return why


why = claims() if what == "claims" else lanes()
print("refused:", "memory" if "memory control group has" in why else why)
other = Session(1002)
why = [why for why in map(other.claim, range(20000, 20100)) if why]
print("other user:", f"{100 - len(why)} claims" if not why else why[0])
