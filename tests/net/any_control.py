#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""any_control.py subject CONTROL OWN4 OWN6 PEER4 PEER6 BASE FIRST SEEDS [SETTLE_MS]

Programs drawn by a seed as those of any_more.py, which send with control data of every kind (addresses and devices to
send by, priorities, hops, marks, segments, times to send at, time stamps), whole, cut short and of wrong lengths, by
sendmsg(2) and sendmmsg(2), and bind several sockets to one port. What the peer gets is compared, too."""
import ctypes
import struct

import any_calls
import any_more
from any_calls import A, call, iovec, msghdr, own4, own6, peer4, peer6

V4 = A.inet_aton
INT = struct.Struct("=i").pack


def V6(host):
    return A.inet_pton(A.AF_INET6, host)


KINDS = (
    # level, type, data
    [(0, 8, struct.pack("=i4s4s", dev, V4(src), V4(dst))) for dev, src, dst in
     ((0, own4, "0.0.0.0"), (0, "0.0.0.0", own4), (2, own4, "0.0.0.0"), (99, own4, "0.0.0.0"), (0, peer4, "0.0.0.0"), (1, own4, "0.0.0.0"),
      (0, "127.0.0.1", "0.0.0.0"), (0, "239.7.7.7", "0.0.0.0"))] +
    [(41, 50, V6(src) + INT(dev)) for src, dev in ((own6, 0), (own6, 2), (own6, 99), (peer6, 0), ("::", 2), ("::", 0), ("::1", 0), ("ff15::7:7", 0))] +
    [(0, 1, INT(v)) for v in (0, 8, 256, -1)] + [(0, 1, b"\x10"), (0, 2, b"\x09")] +
    [(0, 2, INT(v)) for v in (1, 64, 0, 256, -1)] +
    [(41, 67, INT(v)) for v in (0, 8, -1, 256, -2)] + [(41, 52, INT(v)) for v in (1, -1, 256, 0)] + [(41, 67, b"\x10")] +
    [(41, 62, INT(v)) for v in (0, 1, 2)] + [(41, 11, struct.pack("!I", v)) for v in (0, 0x12345)] +
    [(17, 103, struct.pack("=H", v)) for v in (0, 1, 100, 1400, 9000)] + [(17, 103, INT(100)), (17, 104, INT(1))] +
    [(1, 36, INT(0)), (1, 36, INT(7)), (1, 61, struct.pack("=Q", 5)), (1, 37, INT(16)), (1, 37, INT(0)), (1, 37, INT(1 << 20)), (1, 37, b"\x10")] +
    [(1, 12, INT(v)) for v in (0, 3, 7)] + [(1, 80, struct.pack("=I", 5))] +
    [(1, 1, INT(0)), (1, 2, INT(0)), (1, 99, INT(0)), (0, 77, INT(0)), (41, 777, INT(0)), (6, 1, INT(0)), (99, 1, INT(0)), (0, 7, b"\x01" * 4),
     (0, 4, b"\x44\x04\x05\x00"), (41, 54, b"\x3b\x00\x01\x04\0\0\0\0"), (41, 59, b"\x3b\x00\x01\x04\0\0\0\0")])


class Control(any_more.Any):
    OFTEN = {**any_more.Any.OFTEN, "sends": 24, "several": 8, "port": 3, "get": 1, "set": 3, "peer": 26}

    def control(self):
        """One to three control messages: their bytes, and their names."""
        r, raw, names = self.r, b"", []
        for _ in range(r.choice((1, 1, 1, 2, 3))):
            level, kind, data = r.choice(KINDS)
            n = 16 + len(data) + r.choice((0,) * 12 + (-1, 1, 4, -16, -20, 1000))
            raw += struct.pack("=qii", n, level, kind) + data.ljust((len(data) + 7) & ~7, b"\0")
            names.append(f"{level}.{kind}:{data[:20].hex()}/{n}")
        cut = r.choice((0,) * 12 + (1, 7, 8, 15))
        names.append(f"-{cut}" if cut else "")
        return raw[:len(raw) - cut], " ".join(names).replace(V4(own4).hex(), "own").replace(V6(own6).hex(), "own").replace(
            V4(peer4).hex(), "peer").replace(V6(peer6).hex(), "peer")

    def one(self, fd):
        """A message: the struct, and its name."""
        r = self.r
        n = r.choice((0, 1, 100, 1000, 1472, 3000))
        to = r.random() < (0.7 if self.kind(fd) == A.SOCK_DGRAM else 0.1)
        fam = A.AF_INET if self.domain(fd) == A.AF_INET else A.AF_INET6
        raw, alen, what = self.addr(fam, peer4 if fam == A.AF_INET else peer6, r.choice((0, 1, 1, 1)))
        control, names = self.control() if r.random() < 0.9 else (b"", "none")
        iov = (iovec * 1)(iovec(ctypes.addressof(self.buf), n))
        keep = ctypes.create_string_buffer(raw, 256), iov, ctypes.create_string_buffer(control, max(len(control), 1))
        m = msghdr(ctypes.cast(keep[0], ctypes.c_void_p) if to else None, alen if to else 0, ctypes.cast(iov, ctypes.c_void_p), 1)
        m.control, m.controllen, m.keep = ctypes.cast(keep[2], ctypes.c_void_p) if control else None, len(control), keep
        return m, f"{n} {what if to else 'no name'} {names}"

    def do_sends(self):
        fd = self.pick(self.r.choice((A.SOCK_DGRAM, A.SOCK_DGRAM, A.SOCK_DGRAM, A.SOCK_STREAM)))
        m, text = self.one(fd)
        fl = self.r.choice((0, 0, 0, 0x8000, 0x4000000, 0x800))  # MORE, ZEROCOPY, CONFIRM
        ret = call("sendmsg", fd, ctypes.byref(m), fl | A.MSG_DONTWAIT | A.MSG_NOSIGNAL)
        got = []
        if isinstance(ret, int) and ret >= 0 and self.kind(fd) == A.SOCK_DGRAM:
            got = [self.peer("recvfrom", int(self.fam)), self.peer("recvfrom", int(A.AF_INET))]
        return f"sends {fd} {text} {fl:x}", ret, *got

    def do_several(self):
        fd = self.pick(self.r.choice((A.SOCK_DGRAM, A.SOCK_DGRAM, A.SOCK_DGRAM, A.SOCK_STREAM)))
        all_ = [self.one(fd) for _ in range(self.r.choice((1, 2, 3)))]
        vec, raw = b"", []
        for m, _ in all_:
            vec += bytes(m).ljust(64, b"\0")
        buf = ctypes.create_string_buffer(vec, len(vec))
        ret = call("sendmmsg", fd, buf, len(all_), A.MSG_DONTWAIT | A.MSG_NOSIGNAL)
        for i in range(ret if isinstance(ret, int) and ret > 0 else 0):
            raw.append(struct.unpack_from("=I", buf, 64 * i + 56)[0])
        return f"several {fd} " + " | ".join(text for _, text in all_), ret, raw

    def do_port(self):
        """Sockets that share a port, or do not."""
        r, out, at = self.r, [], self.r.choice((4, 5))
        kind = r.choice((A.SOCK_STREAM, A.SOCK_DGRAM))
        for _ in range(2):
            fd = call("socket", self.fam, kind | A.SOCK_NONBLOCK, 0)
            for opt in (2, 15):  # SO_REUSEADDR, SO_REUSEPORT
                if r.random() < 0.6:
                    out.append(f"{opt}:{call('setsockopt', fd, 1, opt, INT(1), 4)}")
            raw, n, what = self.addr(self.fam, r.choice(("0.0.0.0", own4) if self.fam == A.AF_INET else ("::", own6)), at)
            out.append((what, call("bind", fd, raw, n), call("listen", fd, 1) if kind == A.SOCK_STREAM and r.random() < 0.5 else ""))
            call("close", fd) if r.random() < 0.7 else self.fds.append(fd)
        return f"port {kind}", *out


if __name__ == "__main__":
    any_calls.subject(Control)
