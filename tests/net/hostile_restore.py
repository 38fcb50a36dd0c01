# SPDX-License-Identifier: BSD-2-Clause
"""hostile_restore.py SOCKET OWN-ADDRESS DEVICE PEER: as root. A user has the daemon make connections with 32 MB in
their queues, one after the other, while another user asks whether the daemon lives: prints how long the longest answer
of most (95 of 100) took, in ms, with a few bytes and with 32 MB, live and ended, and how many connections were made."""
import fcntl
import os
import socket
import struct
import sys
import time

import leaselib
from leaselib import OPS, Session, flow_key, mapped

path, own, device, peer = sys.argv[1:5]
IFINDEX = socket.if_nametoindex(device)
PORT = struct.pack("=II", IFINDEX, 0)
LIVE, ENDED = 1, 2
F_ADD_SEALS, SEALS = 1033, 2 | 4 | 8
MUCH = 32 << 20
SECONDS = 0.3


def image(port, rport, how, n):
    conn = mapped(own) + mapped(peer) + struct.pack("=HHI", port, rport, 0)
    conn += struct.pack("=IIIIIII", 1000, 2000 + n, 2000, 65535, 65535, 65535, 2000 + n)
    conn += struct.pack("=IIIIIII", 0, 0, n, 87040, 131072, 0, 0)
    conn += struct.pack("=HHBBBB", 1460, 1, 1 if how == LIVE else 7, 7, 7, 0)
    return struct.pack("=I", how) + conn + struct.pack("=IIHH", 0, 0, 0, 0)


def memfd(n):
    fd = os.memfd_create("queues", os.MFD_ALLOW_SEALING)
    for _ in range(0, n, 1 << 20):
        os.write(fd, bytes(min(n, 1 << 20)))
    fcntl.fcntl(fd, F_ADD_SEALS, SEALS)
    return fd


class Attacker(Session):
    def __init__(self):
        super().__init__(path)
        for op, body in ("UMEM", b""), ("PORT_OPEN", PORT), ("LANE_OPEN", PORT):
            answer = self.must(OPS[op], body)
        self.lane, = struct.unpack_from("=I", answer)
        self.tcp = socket.socket()
        self.tcp.bind((own, 0))
        self.port, self.rport = self.tcp.getsockname()[1], 1000

    def claim(self):
        """Claims the next flow, and returns its claim."""
        self.rport += 1
        key = flow_key(socket.IPPROTO_TCP, (own, self.port), (peer, self.rport))
        claim = leaselib.claim(IFINDEX, key, self.lane)
        self.must(OPS["CLAIM"], claim, [self.tcp.fileno()])
        return claim

    def make(self, how, fd, n):
        """True: the daemon made it; it drops it again."""
        claim = self.claim()
        made = self.ask(OPS["RESTORE"], image(self.port, self.rport, how, n), [self.tcp.fileno(), fd])
        self.ask(OPS["RESTORED"], struct.pack("=I", 0))
        self.ask(OPS["UNCLAIM"], claim)
        return isinstance(made, bytes)


def other(how, n, begin, end, out):
    """Asks as another user, without a pause."""
    os.setresuid(1002, 1002, 1002)
    s, took = Session(path), []
    time.sleep(begin - time.monotonic())
    while time.monotonic() < end:
        begin = time.monotonic()
        s.must(OPS["STATUS"])
        took.append(time.monotonic() - begin)
        time.sleep(0.001)
    took.sort()
    os.write(out, struct.pack("=dd", took[len(took) * 95 // 100] * 1000, took[-1] * 1000))
    os._exit(0)


def attack(how, n, begin, end, out):
    os.setresuid(1001, 1001, 1001)
    attacker, made, fd = Attacker(), 0, memfd(n)
    while time.monotonic() < end:
        made += time.monotonic() > begin and attacker.make(how, fd, n)
    os.write(out, struct.pack("=i", made))
    os._exit(0)


def beside(how, n):
    begin = time.monotonic() + 0.3
    pipes = []
    for f in attack, other:
        pipes.append(os.pipe())
        if not os.fork():
            f(how, n, begin, begin + SECONDS, pipes[-1][1])
        os.close(pipes[-1][1])
    os.wait(), os.wait()
    most, longest = struct.unpack("=dd", os.read(pipes[1][0], 16))
    return most, longest, struct.unpack("=i", os.read(pipes[0][0], 4))[0]


for how in (LIVE, ENDED) if __name__ == "__main__" else ():
    few, much = beside(how, 8), beside(how, MUCH)
    print("live" if how == LIVE else "ended", "%.1f %.1f %d" % few, "%.1f %.1f %d" % much, flush=True)
