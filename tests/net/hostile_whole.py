# SPDX-License-Identifier: BSD-2-Clause
"""hostile_whole.py DEVICE GHOST GHOST_MAC SUBJECT SUBJECT_MAC FAR: packets that stand for many segments of TCP, by a packet
socket's virtio header, and segments of several frames, with flags, numbers and headers that no sender would choose.
Prints what each does to a connection. FAR drives the subject."""
import sys

from hostile_frames import NEEDS_CSUM, PACKET_VNET_HDR, SOL_PACKET, TCP4, TCP6, UDP_L4
from segscript import *

faulthandler.cancel_dump_traceback_later()
faulthandler.dump_traceback_later(60, exit=True)
# Here a packet of 40,000 bytes is cut behind this many, and a segment of 8,000 behind this many, or some such number: an
# attacker does not need to know. None of them may be a number of its own to a reset.
CUTS = [8 * (frame - 272) - 54 - 20 * six + 1 for six in (0, 1) for frame in (2048, 4096)]
FRAMES = [frame - 272 - 54 - 20 * six + 1 for six in (0, 1) for frame in (2048, 4096)]


class Whole:
    def __init__(self, t, device):
        self.t, self.l4 = t, 54 if t.net.six else 34
        self.gso = TCP6 if t.net.six else TCP4
        self.wire = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
        self.wire.setsockopt(SOL_PACKET, PACKET_VNET_HDR, 1)
        self.wire.bind((device, 0))

    def put(self, f, spec, size, **over):
        """A packet of segments of that size; 0: of one."""
        frame = self.t.net.frame(f.seg(spec))
        h = dict(flags=NEEDS_CSUM, gso=self.gso, hdr=self.l4 + 20, start=self.l4)
        h.update(over)
        if not size:
            h.update(flags=0, gso=0, hdr=0, start=0)
        if h["flags"]:  # the sum of the pseudo-header, as for a device
            s = csum_of(self.t.net.src + self.t.net.dst) + 6 + len(frame) - self.l4
            while s >> 16:
                s = (s & 0xFFFF) + (s >> 16)
            frame = frame[:self.l4 + 16] + struct.pack("!H", s) + frame[self.l4 + 18:]
        try:
            self.wire.send(struct.pack("=BBHHHH", h["flags"], h["gso"], h["hdr"], size, h["start"], 16) + frame)
        except OSError:
            pass  # the kernel of this host believes nothing so odd

    def case(self, name, spec, size, wait=0.02, **over):
        self.t.begin()
        f, s = self.t.open()
        self.put(f, spec, size, **over)
        f.skip(wait)
        n = s.arrived(1, 0.0)
        whole = s.take(n) == payload(1, n) if n else True
        say(name, "delivers", n, whole, s.state(), s.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR))
        self.t.end()


def main():
    device, ghost, ghost_mac, subject, subject_mac, ctl = sys.argv[1:]
    t = T(Net(device, ghost_mac, ghost, subject_mac, subject), Far(ctl))
    w = Whole(t, device)
    if not t.net.six:
        odd(w)
    for flags in "R", "S.":
        ack = " ack 1" if "." in flags else ""
        for cut in CUTS[2 * t.net.six:][:2]:
            w.case(f"flags {flags}, a piece ends there", f"{flags} {2 - cut}:{2 - cut}(40000){ack} win 257", 1000)
        for cut in FRAMES[2 * t.net.six:][:2]:
            at = 2 - cut - ("S" in flags)
            w.case(f"flags {flags}, a frame ends there", f"{flags} {at}:{at}(8000){ack} win 257", 0)


def odd(w):
    for n, size in (600, 1000), (5000, 500), (20000, 1460), (20000, 65535):
        w.case(f"{n} bytes of {size}", f". 1:1({n}) ack 1 win 257", size, 0.05)
    # (For a device with XDP the peer's kernel makes the segments, which have the same pointer each.)
    for flags in "F.", "E." if os.environ.get("RX") == "xdp" else "FPU.", "":
        ack, urg = " ack 1" if "." in flags else "", " urg 700" if "U" in flags else ""
        w.case(f"flags {flags}", f"{flags} 1:1(5000){ack} win 257{urg}", 1000)
    for seq in -500, -6000, 70000:
        w.case(f"number {seq}", f". {seq}:{seq}(5000) ack 1 win 257", 1000)
    w.case("acknowledges too much", ". 1:1(5000) ack 100000 win 257", 1000)
    for hdr in 0, 65535:
        w.case(f"headers of {hdr}", ". 1:1(5000) ack 1 win 257", 1000, hdr=hdr)
    for start in 0, w.l4 + 1, 65535:
        w.case(f"sum from {start}", ". 1:1(5000) ack 1 win 257", 1000, start=start)
    for gso in TCP6, UDP_L4, TCP4 | 0x80:
        w.case(f"kind {gso:x}", ". 1:1(5000) ack 1 win 257", 1000, gso=gso)


main()
