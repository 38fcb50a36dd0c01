#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""any_more.py peer CONTROL OWN4 OWN6 PEER4 PEER6
any_more.py subject CONTROL OWN4 OWN6 PEER4 PEER6 BASE FIRST SEEDS [SETTLE_MS]

Programs drawn by a seed as those of any_calls.py, with what these leave out: sockets of both families and of mapped
addresses in one program, connections that are given up and made anew, calls that block, for a time or until another
thread's peer does something, a least number of bytes to wait for, pipes and files (splice, sendfile, tee), the queue
of errors, control messages, groups, signals, devices, lingering, and routers' errors. Not drawn is what gives a
socket to the kernel with something unread (SO_PEEK_OFF, another device, splice(2) of datagrams): sluice-limits(7). A
stream socket of IPv6 that has sent a SYN to a mapped address, was disconnected, and connects to an address of IPv6 gets
no connection by the kernel (6.18), whose socket keeps IPv4's functions; here it gets one, so a few programs in a
thousand differ (5034, 5222: EINPROGRESS)."""
import ctypes
import fcntl
import os
import select
import signal
import struct
import sys
import threading
import time
import zlib

import any_calls
from any_calls import A, SEND, MSG, Peer, Run, c, call, iovec, msghdr, own4, own6, peer4, peer6
from inetsum import checksum

GROUPS = {A.AF_INET: "239.7.7.7", A.AF_INET6: "ff15::7:7"}


class More(Peer):
    """A peer that sends to groups, too, and errors as a router does."""

    def __init__(self):
        super().__init__()
        self.sniffer = A.socket(A.AF_PACKET, A.SOCK_DGRAM, A.htons(0x800))
        self.sniffer.setblocking(False)
        self.seen = {}

    def do(self, op, *a):
        if op == "group":
            fam, port, n = a
            s = self.dgrams[fam]
            if fam == A.AF_INET:
                s.setsockopt(A.IPPROTO_IP, A.IP_MULTICAST_IF, A.inet_aton(peer4))
            else:
                s.setsockopt(A.IPPROTO_IPV6, A.IPV6_MULTICAST_IF, 2)
            return s.sendto(b"g" * n, (GROUPS[fam], port))
        if op == "icmp":
            proto, port, kind, code, more = a
            self.look()
            inner = self.seen.get((proto, port))
            if not inner:
                return "none"
            m = struct.pack("!BBHI", kind, code, 0, more) + inner[:48]
            m = m[:2] + struct.pack("!H", checksum(m)) + m[4:]
            with A.socket(A.AF_INET, A.SOCK_RAW, A.IPPROTO_ICMP) as r:
                return r.sendto(m, (own4, 0))
        return super().do(op, *a)

    def look(self):
        """Notes the last packet of each of the subject's ports."""
        while True:
            try:
                raw, frm = self.sniffer.recvfrom(200)
            except BlockingIOError:
                return
            if frm[2] == A.PACKET_OUTGOING or raw[9] not in (6, 17) or raw[12:16] != A.inet_aton(own4):
                continue
            self.seen[raw[9], struct.unpack_from("!H", raw, (raw[0] & 15) * 4)[0]] = raw


class Any(Run):
    OFTEN = {"socket": 4, "bind": 4, "connect": 5, "listen": 3, "accept": 4, "peer": 22, "send": 3, "sendto": 3, "recv": 3, "recvfrom": 2,
             "shutdown": 3, "close": 2, "dup": 1, "poll": 5, "name": 2, "state": 2, "get": 2, "set": 2,
             "mapped": 4, "again": 6, "blocks": 5, "while": 8, "lowat": 4, "splice": 7, "tee": 2, "sendfile": 3, "errors": 6, "told": 6,
             "control": 8, "join": 5, "signals": 3, "signalled": 4, "device": 2, "linger": 3, "asks": 5, "strings": 3, "info": 4,
             "corks": 3, "fast": 2, "peeks": 4, "many": 3, "edge": 5, "edges": 7, "reopen": 3}

    def __init__(self, seed, ctl):
        super().__init__(seed, ctl)
        self.pipe = os.pipe2(os.O_NONBLOCK)
        self.file = os.memfd_create("x")
        os.write(self.file, bytes(i * 11 & 255 for i in range(20000)))
        self.got_signals = []
        signal.signal(signal.SIGIO, lambda *_: self.got_signals.append("io"))
        signal.signal(signal.SIGURG, lambda *_: self.got_signals.append("urg"))
        self.say(0, "files", self.pipe, self.file)
        for what, *result in (self.do_socket(), self.do_socket(), self.serve(A.SOCK_STREAM), self.serve(A.SOCK_DGRAM), self.joined()):
            self.say(0, what, *result)

    def serve(self, kind):
        fd = call("socket", self.fam, kind | A.SOCK_NONBLOCK, 0)
        self.fds.append(fd)
        raw, n, _ = self.addr(self.fam, "0.0.0.0" if self.fam == A.AF_INET else "::", 3)
        return f"serves {fd}", call("bind", fd, raw, n), call("listen", fd, 5)

    def joined(self):
        fd = call("socket", self.fam, A.SOCK_STREAM | A.SOCK_NONBLOCK, 0)
        self.fds.append(fd)
        raw, n, _ = self.addr(self.fam, peer4 if self.fam == A.AF_INET else peer6, 0)
        ret = call("connect", fd, raw, n)
        time.sleep(any_calls.settle)
        return f"connects {fd}", ret, self.peer("accept", self.fam)

    def addr(self, fam, host, at):
        peers = host.removeprefix("::ffff:") in (peer4, peer6)
        port = self.base + at if at or peers else 0
        if fam == A.AF_INET:
            raw = struct.pack("=H", fam) + struct.pack("!H", port) + A.inet_pton(fam, host) + bytes(8)
        else:
            raw = struct.pack("=H", fam) + struct.pack("!HI", port, 0) + A.inet_pton(fam, host) + bytes(4)
        return raw, len(raw), f"{host}:{at}".replace(own4, "own").replace(own6, "own").replace(peer4, "peer").replace(peer6, "peer")

    def kind(self, fd):
        v, n = ctypes.c_int(0), ctypes.c_int(4)
        return v.value if c.getsockopt(fd, A.SOL_SOCKET, A.SO_TYPE, ctypes.byref(v), ctypes.byref(n)) == 0 else 0

    def pick(self, kind, listens=None):
        some = [fd for fd in self.fds[-10:] if self.kind(fd) == kind and (listens is None or self.tcp_state(fd) == 10) == bool(listens)]
        return self.r.choice(some) if some else self.fd()

    def port(self, fd):
        raw, n = ctypes.create_string_buffer(128), ctypes.c_int(128)
        return struct.unpack_from("!H", raw, 2)[0] if c.getsockname(fd, raw, ctypes.byref(n)) == 0 else 0

    # Families
    def do_mapped(self):
        """A socket of IPv6 that speaks IPv4, bound or connecting, or of the other family altogether."""
        r = self.r
        kind, v6 = r.choice((A.SOCK_STREAM, A.SOCK_DGRAM)), r.random() < 0.8
        fd = call("socket", A.AF_INET6 if v6 else A.AF_INET, kind | A.SOCK_NONBLOCK, 0)
        self.fds.append(fd)
        only = r.choice((None, None, 0, 1))
        out = [fd]
        if only is not None:
            out.append(call("setsockopt", fd, A.IPPROTO_IPV6, A.IPV6_V6ONLY, struct.pack("=i", only), 4))
        what = r.choice(("bind", "connect", "connect", "bind connect"))
        text = []
        if "bind" in what:
            host = r.choice(("::", "::ffff:" + own4, "::ffff:0.0.0.0", own6)) if v6 else r.choice((own4, "0.0.0.0"))
            raw, n, name = self.addr(A.AF_INET6 if v6 else A.AF_INET, host, r.choice((0, 3, 4, 5)))
            text.append(name)
            out.append(call("bind", fd, raw, n))
        if "connect" in what:
            host = r.choice(("::ffff:" + peer4, "::ffff:" + peer4, peer6)) if v6 else peer4
            raw, n, name = self.addr(A.AF_INET6 if v6 else A.AF_INET, host, r.choice((0, 0, 2)) if kind == A.SOCK_STREAM else 1)
            text.append(name)
            out.append(call("connect", fd, raw, n))
        elif kind == A.SOCK_STREAM:
            out.append(call("listen", fd, 3))
        return f"mapped {kind} v6 {v6} only {only} {what} {text}", *out

    def do_again(self):
        """Connects anew: elsewhere, there again, nowhere."""
        r = self.r
        fd = self.pick(r.choice((A.SOCK_DGRAM, A.SOCK_DGRAM, A.SOCK_STREAM)))
        out, text = [], []
        for _ in range(r.choice((1, 2, 3))):
            how = r.choice(("unspec", "there", "other", "nobody", "own", "bind"))
            fam = A.AF_INET6 if self.domain(fd) == A.AF_INET6 else A.AF_INET
            host = peer4 if fam == A.AF_INET else r.choice((peer6, peer6, "::ffff:" + peer4))
            if how == "own":
                host = own4 if fam == A.AF_INET else own6
            if how == "bind":
                raw, n, name = self.addr(fam, r.choice((own4, "0.0.0.0")) if fam == A.AF_INET else r.choice((own6, "::")), r.choice((0, 4, 5)))
                out.append(call("bind", fd, raw, n))
            else:
                raw, n, name = self.addr(fam, host, {"there": 1, "other": 0, "nobody": 7, "own": 3}.get(how, 1))
                if how == "unspec":
                    raw, n = bytes(2) + raw[2:], r.choice((16, n, 2))
                out.append(call("connect", fd, raw, n))
            text.append(f"{how} {name}")
            time.sleep(any_calls.settle / 2)
        me, peer = ctypes.create_string_buffer(128), ctypes.create_string_buffer(128)
        n, m = ctypes.c_int(128), ctypes.c_int(128)
        out += [call("getsockname", fd, me, ctypes.byref(n)), self.name(me.raw, n.value), call("getpeername", fd, peer, ctypes.byref(m))]
        if out[-1] == 0:
            out.append(self.name(peer.raw, m.value))
        return f"again {fd} {text}", *out

    def domain(self, fd):
        v, n = ctypes.c_int(0), ctypes.c_int(4)
        return v.value if c.getsockopt(fd, A.SOL_SOCKET, A.SO_DOMAIN, ctypes.byref(v), ctypes.byref(n)) == 0 else 0

    # Blocking
    def blocking(self, fd, on, ms=30):
        fl = c.fcntl(fd, 3, 0)
        if fl >= 0:
            c.fcntl(fd, 4, fl & ~os.O_NONBLOCK if on else fl | os.O_NONBLOCK)
            tv = struct.pack("qq", 0, ms * 1000)
            for opt in (A.SO_RCVTIMEO, A.SO_SNDTIMEO):
                c.setsockopt(fd, A.SOL_SOCKET, opt, tv, 16)
        return fl

    def a_call(self, fd):
        """A call that may wait: its text, and a function that makes it."""
        r, how = self.r, self.r.choice(("recv", "recv", "all", "all", "peek", "accept", "read", "msg", "mmsg", "poll", "select", "splice", "send"))
        n = r.choice((1, 10, 100, 3000))
        buf = ctypes.create_string_buffer(70000)

        def got(ret):
            return (ret, zlib.crc32(buf.raw[:ret])) if isinstance(ret, int) else (ret,)

        def do():
            if how == "recv":
                return got(call("recv", fd, buf, n, 0))
            if how == "all":
                return got(call("recv", fd, buf, n, A.MSG_WAITALL))
            if how == "peek":
                return got(call("recv", fd, buf, n, A.MSG_WAITALL | A.MSG_PEEK))
            if how == "read":
                return got(call("read", fd, buf, n))
            if how == "accept":
                return (self.keep(call("accept4", fd, None, None, A.SOCK_NONBLOCK)),)
            if how == "msg":
                iov = (iovec * 2)(iovec(ctypes.addressof(buf), n // 2), iovec(ctypes.addressof(buf) + n // 2, n - n // 2))
                m = msghdr(None, 0, ctypes.cast(iov, ctypes.c_void_p), 2)
                return (*got(call("recvmsg", fd, ctypes.byref(m), A.MSG_WAITALL)), hex(m.flags))
            if how == "mmsg":
                iov = [(iovec * 1)(iovec(ctypes.addressof(buf) + i * 3000, n)) for i in range(3)]
                arr = (any_calls.mmsghdr * 3)(*[any_calls.mmsghdr(msghdr(None, 0, ctypes.cast(v, ctypes.c_void_p), 1), 0) for v in iov])
                ret = call("recvmmsg", fd, arr, 3, 0x10000, struct.pack("=qq", 0, 40000000))
                return ret, [arr[i].len for i in range(ret)] if isinstance(ret, int) else ""
            if how == "poll":
                arr = ctypes.create_string_buffer(struct.pack("=ihh", fd, 0x2003, 0))
                return call("poll", arr, 1, 30), arr.raw[6:8].hex()
            if how == "select":
                bits = ctypes.create_string_buffer(128)
                bits[fd >> 3] = 1 << (fd & 7)
                return call("select", fd + 1, bits, None, None, ctypes.create_string_buffer(struct.pack("=qq", 0, 30000), 16)), bits.raw[fd >> 3]
            if how == "splice" and self.kind(fd) == A.SOCK_STREAM:
                ret = call("splice", fd, None, self.pipe[1], None, n, 0)
                return ret, self.drain()
            return (call("send", fd, b"s" * 100, min(n, 100), A.MSG_NOSIGNAL),)

        return f"{how} {fd} {n}", do

    def keep(self, fd):
        if isinstance(fd, int):
            self.fds.append(fd)
        return fd

    def drain(self):
        try:
            return zlib.crc32(os.read(self.pipe[0], 1 << 17))
        except BlockingIOError:
            return "-"

    def do_blocks(self):
        fd = max(self.pick(self.r.choice((A.SOCK_STREAM, A.SOCK_STREAM, A.SOCK_DGRAM))), 0)
        text, do = self.a_call(fd)
        fl = self.blocking(fd, True)
        t = time.monotonic()
        got = do()
        took = time.monotonic() - t
        if fl >= 0:
            c.fcntl(fd, 4, fl)
        return f"blocks {text}", *got, "waited" if took > 0.02 else ""

    def do_while(self):
        """A thread is in a call that waits while something happens."""
        fd = max(self.pick(self.r.choice((A.SOCK_STREAM, A.SOCK_STREAM, A.SOCK_DGRAM))), 0)
        text, do = self.a_call(fd)
        fl, got = self.blocking(fd, True, 60), []
        t = threading.Thread(target=lambda: got.append(do()))
        t.start()
        time.sleep(0.008)
        what, *result = getattr(self, "do_" + self.r.choice(("peer", "peer", "peer", "peer", "shutdown", "set", "lowat")))()
        t.join()
        if fl >= 0:
            c.fcntl(fd, 4, fl)
        return f"waits {text} while {what}", *result, "waited", *got[0]

    def do_lowat(self):
        fd, n = self.pick(A.SOCK_STREAM), self.r.choice((0, 1, 1, 2, 50, 200, 2000, -1))
        ret = call("setsockopt", fd, A.SOL_SOCKET, A.SO_RCVLOWAT, struct.pack("=i", n), 4)
        arr = ctypes.create_string_buffer(struct.pack("=ihh", fd, 1, 0))
        return f"lowat {fd} {n}", ret, call("poll", arr, 1, 0), arr.raw[6:8].hex()

    # Pipes and files
    def do_splice(self):
        fd, n, fl = self.pick(A.SOCK_STREAM), self.r.choice((0, 1, 100, 3000, 65536)), self.r.choice((2, 2, 2, 6, 3))
        if self.kind(fd) == A.SOCK_DGRAM:
            fd = self.ep
        if self.r.random() < 0.5:
            return f"splice {fd} to pipe {n} {fl}", call("splice", fd, None, self.pipe[1], None, n, fl), self.drain()
        k = self.r.choice((0, 1, 500, 3000))
        if self.sent + k > 30000:
            k = 1
        self.sent += k
        if k:
            os.write(self.pipe[1], b"w" * k)
        off = struct.pack("q", 3) if self.r.random() < 0.1 else None
        return f"splice pipe {k} to {fd} {n} {fl} {off and 3}", call("splice", self.pipe[0], None, fd, off, n, fl), self.drain()

    def do_tee(self):
        fd, how = self.fd(), self.r.choice(("tee", "tee2", "copy", "vmsplice"))
        if how == "tee":
            return f"tee {fd}", call("tee", fd, self.pipe[1], 10, 2)
        if how == "tee2":
            return f"tee to {fd}", call("tee", self.pipe[0], fd, 10, 2)
        if how == "copy":
            return f"copy {fd}", call("copy_file_range", fd, None, self.file, None, 10, 0), call("copy_file_range", self.file, None, fd, None, 10, 0)
        return f"vmsplice {fd}", call("vmsplice", fd, iovec(ctypes.addressof(self.buf), 5), 1, 0)

    def do_sendfile(self):
        fd, n, at = self.pick(A.SOCK_STREAM), self.r.choice((0, 1, 1000, 5000)), self.r.choice((0, 5, 19990, 30000, -1))
        if self.kind(fd) == A.SOCK_DGRAM:
            fd = self.ep
        if self.sent + n > 30000:
            n = 1
        self.sent += n
        off = ctypes.c_long(at)
        self.blocking(fd, False)
        return f"sendfile {fd} {n} {at}", call("sendfile", fd, self.file, ctypes.byref(off), n), off.value

    # Errors and control messages
    def control_of(self, m, ctl):
        out, at = [], 0
        while at + 16 <= m.controllen:
            size, level, kind = struct.unpack_from("=qii", ctl, at)
            if size < 16:
                break
            data = ctl.raw[at + 16:at + min(size, m.controllen - at)]
            if (level, kind) in ((0, 11), (41, 25)) and len(data) >= 16:
                text = f"{struct.unpack_from('=IBBBxI', data)} {data[16:18].hex()} {data[20:24].hex() if data[16:18] == bytes([2, 0]) else ''}"
            elif level == 1 and kind != 40:
                text = f"{len(data)} bytes"
            elif (level, kind) in ((0, 20), (41, 74)):
                text = data[:2].hex() + data[4:24].hex()
            else:
                text = data.hex()
            out.append(f"{level}.{kind}/{size}:{text}")
            at += (size + 7) & ~7
        return out

    def receive(self, fd, n, fl, room):
        ctl = ctypes.create_string_buffer(512)
        name = ctypes.create_string_buffer(128)
        iov = (iovec * 1)(iovec(ctypes.addressof(self.buf), n))
        m = msghdr(ctypes.cast(name, ctypes.c_void_p), 128, ctypes.cast(iov, ctypes.c_void_p), 1, ctypes.cast(ctl, ctypes.c_void_p), room)
        ret = call("recvmsg", fd, ctypes.byref(m), fl | A.MSG_DONTWAIT)
        if not isinstance(ret, int):
            return (ret,)
        return ret, self.got(ret), self.name(name.raw, m.namelen), hex(m.flags), m.controllen, self.control_of(m, ctl)

    def do_errors(self):
        fd, room = self.pick(self.r.choice((A.SOCK_DGRAM, A.SOCK_STREAM))), self.r.choice((512, 512, 512, 60, 40, 16, 0))
        err, n = ctypes.c_int(0), ctypes.c_int(4)
        out = self.receive(fd, self.r.choice((0, 3, 2000)), 0x2000, room)
        ret = call("getsockopt", fd, A.SOL_SOCKET, A.SO_ERROR, ctypes.byref(err), ctypes.byref(n))
        return f"errors {fd} {room}", *out, "then", ret, err.value

    def do_told(self):
        """Asks for errors and control messages."""
        fd, r = self.fd() if self.r.random() < 0.3 else self.pick(A.SOCK_DGRAM), self.r
        level, opt, val = r.choice(((0, 11, 1), (41, 25, 1), (0, 11, 1), (41, 25, 1), (0, 11, 0), (0, 8, 1), (0, 12, 1), (0, 13, 1), (0, 20, 1),
                                    (41, 49, 1), (41, 51, 1), (41, 66, 1), (41, 74, 1), (1, 29, 1), (1, 35, 1), (1, 37, 0x18), (1, 37, 0x492),
                                    (1, 37, 0x892), (6, 36, 1), (17, 104, 1), (1, 40, 1), (0, 6, 1), (0, 7, 1), (0, 25, 1), (1, 60, 1), (41, 11, 1)))
        return f"told {fd} {level}.{opt}={val}", call("setsockopt", fd, level, opt, struct.pack("=i", val), 4)

    def do_control(self):
        fd = self.pick(self.r.choice((A.SOCK_DGRAM, A.SOCK_DGRAM, A.SOCK_STREAM)))
        n, room = self.r.choice((0, 1, 10, 2000)), self.r.choice((512, 512, 512, 512, 100, 60, 40, 24, 16, 0))
        fl = self.r.choice((0, 0, 0, A.MSG_PEEK, A.MSG_TRUNC, A.MSG_PEEK | A.MSG_TRUNC, A.MSG_OOB, A.MSG_PEEK | A.MSG_OOB, A.MSG_OOB | A.MSG_WAITALL))
        return f"control {fd} {n} {room} {fl:x}", *self.receive(fd, n, fl, room)

    def do_join(self):
        fd, r = self.pick(A.SOCK_DGRAM), self.r
        how = r.choice(("join", "join", "leave", "source", "drop", "block", "msfilter", "all"))
        v4 = self.domain(fd) == A.AF_INET
        g = A.inet_aton(GROUPS[A.AF_INET])
        frm = A.inet_aton(r.choice((peer4, "10.9.9.9")))
        if how == "all":
            return f"group {fd} all", call("setsockopt", fd, 0 if v4 else 41, 49 if v4 else 29, struct.pack("=i", r.choice((0, 1))), 4)
        if v4:
            opt, arg = {"join": (35, g + A.inet_aton(own4)), "leave": (36, g + bytes(4)), "source": (39, g + A.inet_aton(own4) + frm),
                        "drop": (40, g + A.inet_aton(own4) + frm), "block": (38, g + A.inet_aton(own4) + frm),
                        "msfilter": (41, g + A.inet_aton(own4) + struct.pack("=II", r.choice((0, 1)), 1) + frm)}[how]
            return f"group {fd} {how} {opt} {frm == A.inet_aton(peer4)}", call("setsockopt", fd, 0, opt, arg, len(arg))
        opt = 20 if how in ("join", "source", "block") else 21
        arg = A.inet_pton(A.AF_INET6, GROUPS[A.AF_INET6]) + struct.pack("=i", r.choice((0, 2, 2)))
        return f"group {fd} {opt} {arg[16]}", call("setsockopt", fd, 41, opt, arg, 20)

    # Signals, devices, others
    def do_signals(self):
        fd, r = self.fd(), self.r
        fl = c.fcntl(fd, 3, 0)
        out = [call("fcntl", fd, 8, os.getpid()) if r.random() < 0.8 else "", call("fcntl", fd, 10, r.choice((0, int(signal.SIGIO)))) if r.random() < 0.3 else ""]
        out.append(call("fcntl", fd, 4, (fl | 0o20000) if r.random() < 0.7 else fl & ~0o20000) if fl >= 0 else "")
        return f"signals {fd}", *out

    def do_signalled(self):
        got, self.got_signals = sorted(set(self.got_signals)), []
        return "signalled", got

    def do_device(self):
        fd, r = self.fd(), self.r
        how = r.choice(("own", "none", "no", "index"))
        if how == "index":
            n = r.choice((0, 2))
            return f"device {fd} {n}", call("setsockopt", fd, 1, 62, struct.pack("=i", n), 4)
        name = {"own": A.if_indextoname(2), "none": "", "no": "nosuch0"}[how].encode() + b"\0"
        buf, n = ctypes.create_string_buffer(16), ctypes.c_int(r.choice((16, 16, 4, 0)))
        return f"device {fd} {how}", call("setsockopt", fd, 1, 25, name, len(name)), call("getsockopt", fd, 1, 25, buf, ctypes.byref(n)), n.value

    def do_linger(self):
        fd, on, s = self.pick(A.SOCK_STREAM), self.r.choice((0, 1, 1)), self.r.choice((0, 0, 1))
        return f"linger {fd} {on} {s}", call("setsockopt", fd, 1, A.SO_LINGER, struct.pack("ii", on, s), 8)

    def do_asks(self):
        fd, r = self.fd(), self.r
        name, req = r.choice((("INQ", 0x541B), ("ATMARK", 0x8905), ("GSTAMP", 0x8906), ("OUTQNSD", 0x894B), ("GIFCONF", 0x8912), ("GIFNAME", 0x8910),
                              ("GETOWN", 0x8904), ("SPGRP", 0x8902), ("FIONCLEX", 0x5450), ("TCGETS", 0x5401), ("FIOQSIZE", 0x5460),
                              ("GIFINDEX", 0x8933), ("GSKNS", 0x894C), ("KCM", 0x89e0)))
        buf = ctypes.create_string_buffer(64)
        if name == "GIFINDEX":
            buf = ctypes.create_string_buffer(b"lo", 64)
        if name == "SPGRP":
            buf = ctypes.create_string_buffer(struct.pack("=i", r.choice((0, os.getpid()))), 64)
        ret = call("ioctl", fd, ctypes.c_ulong(req), buf)
        if name == "GSKNS" and isinstance(ret, int) and ret > 0:
            c.close(ret)
            ret = "some"
        if name == "OUTQNSD" and self.tcp_state(fd) not in (1, 8):
            return f"ioctl {fd} {name}", ret
        return f"ioctl {fd} {name}", ret, buf.raw[:4].hex() if name not in ("GIFCONF", "GSTAMP", "TCGETS", "GETOWN", "SPGRP", "KCM") else ""

    def do_strings(self):
        fd, r = self.fd(), self.r
        level, opt, val = r.choice(((6, 13, b"reno"), (6, 13, b"cubic"), (6, 13, b"nosuch"), (6, 13, b""), (6, 31, b"nosuch"), (6, 31, b"tls"),
                                    (0, 4, b"\x01\x01"), (0, 4, b"\x44\x04\x05\x00"), (0, 4, b""), (41, 54, b""), (1, 26, b"\0" * 16),
                                    (1, 27, b""), (1, 20, struct.pack("qq", 0, 30000)), (1, 20, struct.pack("qq", 0, -1)),
                                    (1, 21, struct.pack("qq", -1, 0)), (6, 9, b"\1\0\0\0"), (6, 10, b"\0\x20\0\0"), (6, 12, b"\0\0\0\0"), (6, 12, b"\1\0\0\0")))
        return f"string {fd} {level}.{opt} {val}", call("setsockopt", fd, level, opt, val, len(val))

    def do_info(self):
        fd, r = self.fd(), self.r
        level, opt, n = r.choice(((6, 11, 8), (6, 11, 256), (6, 11, 0), (6, 13, 16), (6, 13, 3), (6, 26, 64), (6, 31, 16), (1, 17, 12), (1, 28, 128),
                                  (1, 55, 64), (1, 57, 8), (1, 71, 8), (1, 59, 4), (1, 77, 4), (1, 31, 64), (1, 26, 64), (0, 4, 40), (0, 41, 64),
                                  (6, 10, 4), (6, 9, 4), (6, 12, 4), (41, 59, 4), (1, 56, 4), (1, 49, 4), (1, 13, 8), (1, 20, 16)))
        buf, m = ctypes.create_string_buffer(256), ctypes.c_int(n)
        ret = call("getsockopt", fd, level, opt, buf, ctypes.byref(m))
        text = ""
        if ret == 0 and (level, opt) in ((6, 13), (6, 31), (1, 28), (1, 13), (1, 20), (6, 9), (0, 4), (41, 59)):
            text = buf.raw[:m.value].hex() if (level, opt) != (1, 28) else self.name(buf.raw, m.value)
        elif ret == 0 and (level, opt) == (6, 11) and m.value >= 8:
            text = buf.raw[:1].hex()
        elif ret == 0 and (level, opt) == (1, 49):  # on which processor the kernel has taken the last one in, or -1
            text = "one" if struct.unpack_from("=i", buf)[0] >= 0 else "none"
        return f"info {fd} {level}.{opt} {n}", ret, m.value, text

    def do_corks(self):
        r = self.r
        fd = self.pick(r.choice((A.SOCK_DGRAM, A.SOCK_STREAM)))
        level, opt = (17, 1) if self.kind(fd) == A.SOCK_DGRAM else (6, 3)
        out = [call("setsockopt", fd, level, opt, struct.pack("=i", 1), 4)]
        for _ in range(r.choice((1, 2, 3))):
            out.append(call("send", fd, b"k" * 1000, r.choice((1, 100, 1000)), r.choice((0, 0, A.MSG_MORE)) | A.MSG_DONTWAIT | A.MSG_NOSIGNAL))
        if r.random() < 0.8:
            out.append(call("setsockopt", fd, level, opt, struct.pack("=i", 0), 4))
        return f"corks {fd}", *out

    def do_fast(self):
        fd, r = self.pick(A.SOCK_STREAM, listens=False), self.r
        raw, n, what = self.addr(self.domain(fd) or self.fam, peer6 if self.domain(fd) == A.AF_INET6 else peer4, 0)
        return f"fast {fd} {what}", call("sendto", fd, b"fast", 4, 0x20000000 | A.MSG_DONTWAIT | A.MSG_NOSIGNAL, raw, n)

    def do_peeks(self):
        fd, r, out = self.pick(self.r.choice((A.SOCK_STREAM, A.SOCK_DGRAM))), self.r, []
        for fl in r.choice(((2, 2), (2, 0, 2), (0x22, 2), (2, 0x40), (0x102, 2), (3, 2))):
            ret = call("recv", fd, self.buf, r.choice((1, 10, 200)), fl | A.MSG_DONTWAIT)
            out += [f"{fl:x}", ret, self.got(ret)]
        return f"peeks {fd}", *out

    def do_many(self):
        """Several datagrams in one call, to several addresses; with segments."""
        fd, r = self.pick(A.SOCK_DGRAM), self.r
        fam = self.domain(fd) or self.fam
        ms, keep, what = [], [], []
        for _ in range(r.choice((1, 2, 4))):
            raw, n, name = self.addr(fam, peer4 if fam == A.AF_INET else r.choice((peer6, "::ffff:" + peer4)), r.choice((1, 1, 1, 7)))
            to, k = ctypes.create_string_buffer(raw, 28), r.choice((0, 1, 300, 1400))
            v = (iovec * 1)(iovec(ctypes.addressof(self.buf), k))
            keep += [to, v]
            ms.append(any_calls.mmsghdr(msghdr(ctypes.cast(to, ctypes.c_void_p), n, ctypes.cast(v, ctypes.c_void_p), 1), 0))
            what.append(f"{name}/{k}")
        if len({w.split("/")[0] for w in what}) > 1:
            ms, what = ms[:1], what[:1]  # (an error may come between two)
        arr = (any_calls.mmsghdr * len(ms))(*ms)
        ret = call("sendmmsg", fd, arr, len(ms), A.MSG_DONTWAIT)
        return f"many {fd} {what}", ret, [arr[i].len for i in range(ret)] if isinstance(ret, int) else ""

    # Edges
    def do_edge(self):
        fd, op, ev = self.fd(), self.r.choice((1, 1, 1, 3, 2)), self.r.choice((0x80000001, 0x80000005, 0x80002001, 0xc0000001, 0x80000007))
        if self.kind(fd) == A.SOCK_DGRAM:
            ev &= ~4  # (each datagram that leaves the device is an edge of the kernel's)
        return f"edge {op} {fd} {ev:x}", call("epoll_ctl", self.ep, op, fd, struct.pack("=Iq", ev, fd))

    def do_edges(self):
        """Each event once, and not again."""
        raw, all_ = ctypes.create_string_buffer(12 * 16), []
        for _ in range(3):
            ret = call("epoll_wait", self.ep, raw, 16, 0)
            all_.append(sorted(f"{fd}:{ev:x}" for ev, fd in (struct.unpack_from("=Iq", raw, 12 * i) for i in range(ret))))
            time.sleep(0.001)
        return "edges", all_

    def do_reopen(self):
        """Closes, and makes one that gets the number, in the same program's set."""
        fd = self.fd()
        if fd in (self.ep, -1, 200) or fd < 3:
            return "reopen none", ""
        ret = call("close", fd)
        kind = self.r.choice((A.SOCK_STREAM, A.SOCK_DGRAM))
        new = self.keep(call("socket", self.fam, kind | A.SOCK_NONBLOCK, 0))
        raw, n, what = self.addr(self.fam, peer4 if self.fam == A.AF_INET else peer6, 0 if kind == A.SOCK_STREAM else 1)
        return f"reopen {fd} {kind}", ret, new, call("connect", new, raw, n)

    def do_peer(self):
        r = self.r
        fam = self.r.choice((self.fam, self.fam, A.AF_INET))
        if r.random() < 0.8:
            old, self.fam = self.fam, int(fam)
            try:
                return super().do_peer()
            finally:
                self.fam = old
        if r.random() < 0.4:
            at, n = r.choice((3, 4, 5)), r.choice((1, 100, 1400))
            return f"peer group {fam} {at} {n}", self.peer("group", int(fam), self.base + at, n)
        kind = r.choice((A.SOCK_DGRAM, A.SOCK_DGRAM, A.SOCK_STREAM))
        fd = self.pick(kind)
        typ, code, more = r.choice(((3, 1, 0), (3, 3, 0), (3, 0, 0), (3, 2, 0), (3, 13, 0), (3, 5, 0), (11, 0, 0), (12, 0, 0), (4, 0, 0), (3, 10, 0)))
        return f"peer icmp {fd} {typ}.{code}", self.peer("icmp", 6 if self.kind(fd) == A.SOCK_STREAM else 17, self.port(fd), typ, code, more)

    def go(self):
        super().go()
        for fd in (*self.pipe, self.file):
            os.close(fd)


if __name__ == "__main__":
    if any_calls.role == "peer":
        any_calls.Peer = More
        any_calls.peer()
    else:
        any_calls.subject(Any)
