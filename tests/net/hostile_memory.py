# SPDX-License-Identifier: BSD-2-Clause
"""hostile_memory.py claims|lanes SOCKET DEVICE ADDRESS: as root. One user takes what it can get of the daemon's memory,
then another one asks for a lease and for 100 claims. Says what became of both."""
import array
import os
import socket
import struct
import sys

from leaselib import MAGIC, OPS, VERSION

what, path, device, own = sys.argv[1:]
PORT = struct.pack("=II", socket.if_nametoindex(device), 0)
LANES = 64
keep = []


class Session:
    def __init__(self, uid):
        os.seteuid(uid)
        self.s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.s.connect(path)
        self.s.settimeout(10)
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
        anc = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else []
        self.s.sendmsg([struct.pack("=IHHIi", MAGIC, VERSION, OPS[op], 7, 0) + body], anc)
        data, anc, _, _ = self.s.recvmsg(65536, 65536)
        for _, _, got in anc:
            keep.append(array.array("i", got[: len(got) // 4 * 4]))
        if not data:
            return "hung up"
        return data[16:].split(b"\0")[0].decode() if struct.unpack_from("=IHHIi", data)[4] else ""

    def claim(self, n):
        """Claims a flow that passes, for the n-th peer."""
        key = bytes(10) + b"\xff\xff" + socket.inet_aton(own) + bytes(10) + b"\xff\xff" + struct.pack("!I", 0x0A000000 + n)
        key += struct.pack("=HHBBBBI", self.tcp.getsockname()[1], 1000, socket.IPPROTO_TCP, 0, 0, 0, 0)
        return self.ask("CLAIM", PORT[:4] + bytes(4) + key + struct.pack("=IIIII", 0, 1, 1, 4, 0) + bytes(8), [self.tcp.fileno()])


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
