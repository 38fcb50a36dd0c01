# SPDX-License-Identifier: BSD-2-Clause
"""tcp_forged.py DEVICE MAC SRC DST DPORT SECONDS SPORT...: sends forged segments of these flows, each in two IP
fragments, which reach DST's kernel: it finds no socket of the flow and would answer with a reset. They are SYNs, or have
no ACK, or (ten of twelve) acknowledge a random number, but none that DST has sent or will send soon."""
import random
import sys

from segpeer import *

PART = 24  # bytes in the first fragment: the TCP header and four more


def fragments(net, frame, ident):
    """The frame of Net.frame() as two fragments (RFC 791 3.2, RFC 8200 4.5)."""
    if net.six:
        head, tcp = frame[14:54], frame[54:]
        for off, part, more in (0, tcp[:PART], 1), (PART, tcp[PART:], 0):
            ip = head[:4] + struct.pack("!HBB", 8 + len(part), 44, 64) + head[8:]
            yield net.eth + ip + struct.pack("!BBHI", 6, 0, off | more, ident) + part
    else:
        head, tcp = frame[14:34], frame[34:]
        for off, part, more in (0, tcp[:PART], 0x2000), (PART, tcp[PART:], 0):
            ip = head[:2] + struct.pack("!HHH", 20 + len(part), ident & 0xFFFF, off // 8 | more) + head[8:10]
            ip += b"\0\0" + head[12:]
            yield net.eth + ip[:10] + struct.pack("!H", checksum(ip)) + ip[12:] + part


def main():
    device, mac, src, dst, dport, seconds, *sports = sys.argv[1:]
    net = Net(device, "02:00:5e:10:00:77", src, mac, dst)
    sent = {}  # a number that DST has sent; a SYN has it answer (RFC 5961 4.2)
    for sport in map(int, sports):
        f = net.flow(int(dport), sport)
        net.send(net.frame(Seg(sport=sport, dport=int(dport), seq=random.getrandbits(32), flags=FLAGS["S"], win=1000)))
        sent[sport] = f.take().seq
    end, n = time.monotonic() + float(seconds), 0
    while time.monotonic() < end:
        for sport in map(int, sports):
            far = sent[sport] + (1 << 30) + random.getrandbits(31)
            flags = {0: "S", 1: "P"}.get(n % 12, "P.")
            seg = Seg(sport=sport, dport=int(dport), seq=random.getrandbits(32), flags=sum(FLAGS[c] for c in flags),
                      ack=far if "." in flags else 0, win=1000, data=b"x" * 40)
            for f in fragments(net, net.frame(seg), random.getrandbits(32)):
                net.send(f)
            n += 1
        time.sleep(0.02)
    print(n, "segments")


main()
