# SPDX-License-Identifier: BSD-2-Clause
"""A TCP peer that is a script: frames by AF_PACKET from an address that no kernel owns, so that only the script
answers. Segments are written as in tests/tcp/script.h (and packetdrill):

    f = net.flow(7000)                       to port 7000 of the subject
    f.put("S 0:0(0) win 32792 <mss 1000,sackOK,wscale 7>")
    f.get("S. 0:0(0) ack 1 <mss *,sackOK,wscale *>")
    f.put(". 1:1(0) ack 1 win 257")

Numbers are relative to the initial ones of both sides, the subject's time stamps to its first. In what
is expected * stands for any number, PSH is not compared, options only if <> is there."""
import os
import random
import re
import select
import socket
import struct
import time

from inetsum import checksum, csum_of

FLAGS = {"F": 1, "S": 2, "R": 4, "P": 8, ".": 16, "U": 32, "E": 64, "W": 128, "A": 256}
WAIT = 10.0
MASK = 0xFFFFFFFF
TFO_KIND = 34
SO_TIMESTAMPNS = 35


class Wrong(Exception):
    """The subject sent an unexpected segment, or did not send an expected one."""


def byte_at(seq):
    return (seq * 7 + (seq >> 8)) & 0xFF


def payload(seq, n):
    """The stream's bytes from a relative sequence number (1 is the first)."""
    return bytes(byte_at(seq + i) for i in range(n))


class Seg:
    def __init__(self, **kw):
        self.sport = self.dport = self.seq = self.ack = self.flags = self.win = self.urg = 0
        self.opts, self.data, self.good, self.at = {}, b"", True, 0.0
        self.__dict__.update(kw)


def build_options(opts):
    out = b""
    for kind, v in opts.items():
        if kind == "mss":
            out += struct.pack("!BBH", 2, 4, v)
        elif kind == "sackOK":
            out += b"\4\2"
        elif kind == "TS":
            out += struct.pack("!BBII", 8, 10, v[0] & MASK, v[1] & MASK)
        elif kind == "wscale":
            out += struct.pack("!BBB", 3, 3, v)
        elif kind == "sack":
            out += struct.pack("!BB", 5, 2 + 8 * len(v))
            out += b"".join(struct.pack("!II", a & MASK, b & MASK) for a, b in v)
        elif kind == "tfo":
            out += struct.pack("!BB", TFO_KIND, 2 + len(v)) + v
        elif kind == "accecn":
            out += struct.pack("!BB", v[0], 2 + 3 * (len(v) - 1)) + b"".join(x.to_bytes(3, "big") for x in v[1:])
        elif kind == "raw":
            out += v
    return out + b"\1" * (-len(out) % 4)


def parse_options(data):
    out, i = {}, 0
    while i < len(data):
        kind = data[i]
        if kind == 0:
            break
        if kind == 1:
            i += 1
            continue
        n = data[i + 1]
        v = data[i + 2:i + n]
        if kind == 2:
            out["mss"] = struct.unpack("!H", v)[0]
        elif kind == 3:
            out["wscale"] = v[0]
        elif kind == 4:
            out["sackOK"] = True
        elif kind == 5:
            out["sack"] = [struct.unpack("!II", v[k:k + 8]) for k in range(0, len(v), 8)]
        elif kind == 8:
            out["TS"] = struct.unpack("!II", v)
        elif kind == TFO_KIND:
            out["tfo"] = v
        elif kind in (172, 174):
            out["accecn"] = (kind, *(int.from_bytes(v[k:k + 3], "big") for k in range(0, len(v), 3)))
        i += n
    return out


class Net:
    """The wire to one subject: DEVICE here, ghost MAC and address, the subject's MAC and address."""

    def __init__(self, device, mac, addr, their_mac, their_addr):
        self.six = ":" in addr
        fam = socket.AF_INET6 if self.six else socket.AF_INET
        self.src, self.dst = socket.inet_pton(fam, addr), socket.inet_pton(fam, their_addr)
        self.addr, self.their_addr = addr, their_addr
        mac, their_mac = (bytes.fromhex(m.replace(":", "")) for m in (mac, their_mac))
        self.eth = their_mac + mac + (b"\x86\xdd" if self.six else b"\x08\x00")
        self.sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUFFORCE if hasattr(
            socket, "SO_RCVBUFFORCE") else 33, 64 << 20)
        self.sock.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        self.sock.bind((device, 0))
        self.flows = {}
        self.next_port = 20000 + random.randrange(10000)
        self.ip_id = 0

    def flow(self, dport, sport=None):
        if sport is None:
            self.next_port += 1
            sport = self.next_port
        return Flow(self, sport, dport)

    # Out ---------------------------------------------------------------------------------------
    def frame(self, seg, break_csum=False, tos=0):
        opts = build_options(seg.opts)
        n = 20 + len(opts) + len(seg.data)
        head = struct.pack("!HHIIBBHHH", seg.sport, seg.dport, seg.seq & MASK, seg.ack & MASK,
                           (5 + len(opts) // 4) << 4 | seg.flags >> 8, seg.flags & 0xFF, seg.win, 0, seg.urg)
        pseudo = csum_of(self.src + self.dst) + 6 + n
        tcp = head + opts + seg.data
        s = pseudo + csum_of(tcp)
        while s >> 16:
            s = (s & 0xFFFF) + (s >> 16)
        s = ~s & 0xFFFF
        if break_csum:
            s ^= 0x5555
        tcp = tcp[:16] + struct.pack("!H", s) + tcp[18:]
        if self.six:
            ip = struct.pack("!IHBB", 6 << 28 | tos << 20, n, 6, 64) + self.src + self.dst
        else:
            self.ip_id = (self.ip_id + 1) & 0xFFFF
            ip = struct.pack("!BBHHHBBH", 0x45, tos, 20 + n, self.ip_id, 0x4000, 64, 6, 0)
            ip += self.src + self.dst
            ip = ip[:10] + struct.pack("!H", checksum(ip)) + ip[12:]
        return self.eth + ip + tcp

    def send(self, frame):
        while True:
            try:
                return self.sock.send(frame)
            except OSError:  # the queue of the device is full
                time.sleep(0.0005)

    # In ----------------------------------------------------------------------------------------
    def parse(self, frame, at):
        if self.six:
            if frame[12:14] != b"\x86\xdd" or frame[20] != 6 or frame[38:54] != self.src:
                return None
            ip = frame[14:]
            tcp = ip[40:40 + struct.unpack("!H", ip[4:6])[0]]
            src, tos = ip[8:24], (ip[0] << 4 | ip[1] >> 4) & 0xFF
        else:
            if frame[12:14] != b"\x08\x00" or frame[23] != 6 or frame[30:34] != self.src:
                return None
            ip = frame[14:]
            hl = (ip[0] & 15) * 4
            tcp = ip[hl:struct.unpack("!H", ip[2:4])[0]]
            src, tos = ip[12:16], ip[1]
        if src != self.dst:
            return None
        sport, dport, seq, ack, off, flags, win, _, urg = struct.unpack("!HHIIBBHHH", tcp[:20])
        hl = (off >> 4) * 4
        s = csum_of(self.src + self.dst) + 6 + len(tcp) + csum_of(tcp)
        while s >> 16:
            s = (s & 0xFFFF) + (s >> 16)
        return Seg(sport=sport, dport=dport, seq=seq, ack=ack, flags=flags | (off & 1) << 8, win=win, urg=urg, tos=tos,
                   opts=parse_options(tcp[20:hl]), data=tcp[hl:], good=s == 0xFFFF,
                   at=at, to=frame[:6])

    def receive(self, seconds):
        """Takes the frames that come within that time; True if one was for a flow."""
        if not select.select([self.sock], [], [], seconds)[0]:
            return False
        any_new = False
        while True:
            try:
                frame, control, _, where = self.sock.recvmsg(70000, 64, socket.MSG_DONTWAIT)
            except BlockingIOError:
                return any_new
            if where[2] == 4:  # PACKET_OUTGOING
                continue
            # When the frame came, not when this process had a core to read it.
            at = next(struct.unpack("=qq", c[2]) for c in control if c[1] == SO_TIMESTAMPNS)
            seg = self.parse(frame, at[0] + at[1] / 1e9)
            flow = seg and self.flows.get((seg.dport, seg.sport))
            if flow:
                flow.queue.append(seg)
                any_new = True


SPEC = re.compile(r"^([FSRP.UEWA]*) (\*|-?\d+)(?::(?:\*|-?\d+))?\((\*|\d+)\)(?: ack (\*|-?\d+))?"
                  r"(?: win (\*|\d+))?(?: urg (\d+))?(?: <(.*)>)?$")


class Flow:
    def __init__(self, net, sport, dport):
        self.net, self.sport, self.dport = net, sport, dport
        self.iss = random.getrandbits(32)  # ours
        self.irs = None                    # the subject's
        self.ts0 = None
        self.queue, self.tfo = [], b""
        self.auto_win = 32792
        self.acked = self.iss              # what the subject has acknowledged last
        net.flows[(sport, dport)] = self

    def parse(self, spec):
        m = SPEC.match(spec)
        if not m:
            raise ValueError(spec)
        num = lambda g: None if m[g] in (None, "*") else int(m[g])
        opts = None
        if m[7] is not None:
            opts = {}
            for word in filter(None, m[7].split(",")):
                name, *args = word.split()
                if name == "TS":
                    opts[name] = tuple(None if a == "*" else int(a) for a in args)
                elif name == "sack":
                    opts[name] = [tuple(int(x) for x in a.split(":")) for a in args]
                elif name == "tfo":
                    opts[name] = self.tfo if args == ["="] else None if args else b""
                elif name == "sackOK":
                    opts[name] = True
                else:
                    opts[name] = None if args[0] == "*" else int(args[0])
        flags = sum(FLAGS[c] for c in m[1])
        return flags, num(2), num(3), num(4), num(5), int(m[6] or 0), opts

    # Out ---------------------------------------------------------------------------------------
    def seg(self, spec, data=None):
        flags, seq, n, ack, win, urg, opts = self.parse(spec)
        opts = dict(opts or {})
        if "TS" in opts:
            val, ecr = opts["TS"]
            opts["TS"] = (val, 0 if ecr is None else ecr + (self.ts0 or 0))
        if "sack" in opts:
            opts["sack"] = [(a + self.irs, b + self.irs) for a, b in opts["sack"]]
        first = seq + (1 if flags & FLAGS["S"] else 0)
        return Seg(sport=self.sport, dport=self.dport, seq=seq + self.iss,
                   ack=((self.irs or 0) + ack) if flags & FLAGS["."] else 0, flags=flags,
                   win=self.auto_win if win is None else win, urg=urg, opts=opts,
                   data=payload(first, n) if data is None else data)

    def put(self, spec, data=None, **how):
        if "S" in spec.split()[0]:
            self.auto_win = 32792
        self.net.send(self.net.frame(self.seg(spec, data), **how))
        if " win " in spec and "S" not in spec.split()[0]:
            self.auto_win = self.parse(spec)[4]

    # In ----------------------------------------------------------------------------------------
    def take(self, seconds=WAIT):
        """The next segment, or None."""
        end = time.monotonic() + seconds
        while not self.queue:
            left = end - time.monotonic()
            if left <= 0 or (not self.net.receive(left) and time.monotonic() >= end):
                break
        if not self.queue:
            return None
        s = self.queue.pop(0)
        if s.flags & FLAGS["."]:
            self.acked = s.ack
        if s.flags & FLAGS["S"]:
            self.irs = s.seq
            if "TS" in s.opts and self.ts0 is None:
                self.ts0 = s.opts["TS"][0]
            if s.opts.get("tfo"):
                self.tfo = s.opts["tfo"]
        if not s.good:
            raise Wrong("a bad checksum: " + self.show(s))
        return s

    def relative(self, s):
        base = self.irs if self.irs is not None else 0
        signed = lambda x: (x & MASK) - (1 << 32) if (x & MASK) >> 31 else x & MASK
        return signed(s.seq - base), signed(s.ack - self.iss)

    def show(self, s):
        seq, ack = self.relative(s)
        text = "".join(c for c, b in FLAGS.items() if s.flags & b and c != "P")
        text += f" {seq}:{seq + len(s.data)}({len(s.data)})"
        if s.flags & FLAGS["."]:
            text += f" ack {ack}"
        return f"{text} win {s.win} {s.opts}"

    def fits(self, s, spec):
        flags, seq, n, ack, win, urg, opts = self.parse(spec)
        rel_seq, rel_ack = self.relative(s)
        if s.flags & ~8 != flags & ~8 or (seq is not None and seq != rel_seq) or \
                (n is not None and n != len(s.data)) or (win is not None and win != s.win) or \
                (ack is not None and ack != rel_ack) or (urg and urg != s.urg):
            return False
        if opts is None:
            return True
        if set(opts) != set(s.opts):
            return False
        for name, v in opts.items():
            got = s.opts[name]
            if name == "TS":
                ours = got[0] - (self.ts0 or 0)
                if (v[0] is not None and v[0] != ours) or (v[1] is not None and v[1] != got[1]):
                    return False
            elif name == "sack":
                if v != [((a - self.iss) & MASK, (b - self.iss) & MASK) for a, b in got]:
                    return False
            elif v is not None and v != got:
                return False
        return True

    def get(self, spec, seconds=WAIT):
        """Takes the next segment, which must be the one described."""
        s = self.take(seconds)
        if s is None:
            raise Wrong(f"nothing came, not {spec}")
        if not self.fits(s, spec):
            raise Wrong(f"got {self.show(s)}, not {spec}")
        return s

    def until(self, spec, seconds=WAIT):
        """Takes segments until the one described, which must come."""
        end, seen = time.monotonic() + seconds, []
        while True:
            s = self.take(max(0.0, end - time.monotonic()))
            if s is None:
                raise Wrong(f"{spec} did not come, but {[self.show(x) for x in seen[-5:]]}")
            if self.fits(s, spec):
                return s
            seen.append(s)

    def quiet(self, seconds):
        s = self.take(seconds)
        if s is not None:
            raise Wrong(f"got {self.show(s)}, not nothing")

    def skip(self, seconds=0.0):
        """Drops the segments that have come; returns their number."""
        n = 0
        while self.take(seconds) is not None:
            n += 1
        return n

    def drop(self):
        """Resets the subject's end and forgets the flow, as if the peer had gone."""
        if self.irs is not None:
            self.skip()
            self.net.send(self.net.frame(Seg(sport=self.sport, dport=self.dport, flags=FLAGS["R"],
                                             seq=self.acked)))
        self.net.flows.pop((self.sport, self.dport), None)
