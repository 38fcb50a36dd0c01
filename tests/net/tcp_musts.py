# SPDX-License-Identifier: BSD-2-Clause
"""tcp_musts.py DEVICE GHOST GHOST_MAC SUBJECT SUBJECT_MAC FAR [CASE...]: what standards say that a TCP must do with
segments that are seldom seen: options, header, sequence space, handshakes. The peer is a script of raw frames. A line for each
thing that is sent, with what the subject answers and its program sees; they are the kernel's."""
import sys

from segscript import *

faulthandler.cancel_dump_traceback_later()
faulthandler.dump_traceback_later(200, exit=True)
QUIET = 0.12
TS = OPTS + ",TS 100 0"


class Case:
    def __init__(self, t, name):
        self.t, self.name = t, name

    def say(self, what, text):
        say(f"{self.name}, {what}: {text}")

    def answers(self, f, seconds=QUIET):
        """All that comes until nothing has come for that time."""
        out = []
        while True:
            s = f.take(seconds)
            if s is None:
                return ", ".join(out) or "nothing"
            seq, ack = f.relative(s)
            text = "".join(c for c, b in FLAGS.items() if s.flags & b and c != "P") or "-"
            text += f" {seq}({len(s.data)})" + (f" ack {ack}" if s.flags & 16 else "")
            text += "".join(" " + k for k in sorted(s.opts) if k in ("sackOK", "wscale", "tfo"))
            signed = lambda x: ((x - f.iss + (1 << 31)) & MASK) - (1 << 31)
            text += "".join(f" sack {signed(a)}:{signed(b)}" for a, b in s.opts.get("sack", []))
            if text not in out:
                out.append(text)

    def put(self, f, what, spec, data=None, raw=None, edit=None, seconds=QUIET):
        """Sends a segment with these bytes as options, its header changed by edit."""
        seg = f.seg(spec, data)
        if raw is not None:
            seg.opts["raw"] = raw
        frame = f.net.frame(seg)
        self.send(f, what, edited(f.net, frame, edit) if edit else frame, seconds)

    def send(self, f, what, frame, seconds=QUIET):
        f.net.send(frame)
        self.say(what, self.answers(f, seconds))

    def reads(self, s):
        self.say("read", (got(s), s.polled()))

    def open(self, opts=OPTS, sockopts=()):
        f, s = self.t.open(opts, sockopts)
        self.answers(f, 0.03)
        return f, s


def got(s):
    """How many bytes there are to read, or the error."""
    data = attempt(s.recv, 1 << 16) if readable(s) else b""
    return data if isinstance(data, str) else len(data)


def edited(net, frame, edit):
    """The frame with its TCP header changed, and the checksum made anew."""
    at = 14 + (40 if net.six else 20)
    tcp = bytearray(frame[at:])
    edit(tcp)
    tcp[16:18] = b"\0\0"
    s = csum_of(net.src + net.dst) + 6 + len(tcp) + csum_of(bytes(tcp))
    while s >> 16:
        s = (s & 0xFFFF) + (s >> 16)
    tcp[16:18] = struct.pack("!H", ~s & 0xFFFF)
    return frame[:at] + bytes(tcp)


# RFC 9293 3.1, 3.2: options and header (MUST-4 to 7, 64) ---------------------------------------------

RAW = [("unknown", b"\x4d\4\1\2"), ("of no length", b"\x4d\0\1\1"), ("of length 1", b"\x4d\1\1\1"),
       ("longer than the header", b"\x4d\x28\1\1"), ("at the last byte", b"\1\1\1\x4d"), ("behind the end", b"\0\2\4\1"),
       ("user timeout", b"\x1c\4\x80\x05"), ("MSS, too short", b"\2\3\5\1"), ("window scale of 4 bytes", b"\3\4\1\1"),
       ("SACK permitted of 3 bytes", b"\4\3\0\1"), ("time stamps of 9 bytes", b"\x08\x09\0\0\0\1\0\0\0\1\1\1")]


def options_of_a_syn(c):
    c.t.listen()
    for name, raw in RAW:
        f = c.t.flow()
        c.put(f, name, "S 0:0(0) win 32792 <mss 1000>", raw=raw)
        f.put("R 1:1(0)")
    for name, raw in (("MSS twice", b"\2\4\3\xe8\2\4\1\xf4"), ("window scale twice", b"\3\3\2\1\3\3\7\1"),
                      ("window scale 15", b"\3\3\x0f\1"), ("all, in another order", b"\4\2\3\3\7\1\1\1\x08\x0a\0\0\0\1\0\0\0\0")):
        f = c.t.flow()
        c.put(f, name, "S 0:0(0) win 32792 <>", raw=raw)
        f.put("R 1:1(0)")


def options_of_data(c):
    f, s = c.open()
    at = 1
    for name, raw in RAW + [("window scale", b"\3\3\x0e\1"), ("SACK permitted", b"\4\2\1\1"), ("MSS", b"\2\4\0\x64")]:
        c.put(f, name, f"P. {at}:{at + 10}(10) ack 1", raw=raw)
        at += 10
    c.reads(s)
    s.send(payload(1, 2500))
    c.say("its segments", c.answers(f))


def header(c):
    f, s = c.open()
    at = 1

    def reserved(tcp):
        tcp[12] |= 0x0E

    def short(tcp):
        tcp[12] = 4 << 4 | tcp[12] & 15

    def long(tcp):
        tcp[12] = 15 << 4 | tcp[12] & 15

    for name, edit in ("reserved bits", reserved), ("data offset 4", short), ("data offset 15", long):
        c.put(f, name, f"P. {at}:{at + 10}(10) ack 1", edit=edit)
    c.reads(s)
    c.put(f, "no flag at all", " 11:21(10)")
    c.put(f, "all flags", "FSRP.U 11:21(10) ack 1")
    c.say("then", s.polled())


def segment_sizes(c):
    """RFC 9293 3.7.1 (MUST-14 to 16), with what an MSS may say."""
    for mss in (0, 1, 40, 64, 88, 536, 65535):
        f, s = c.open(f"mss {mss},sackOK,wscale 7")
        s.setsockopt(TCP, socket.TCP_NODELAY, 1)
        s.send(payload(1, 120))
        seg = f.take(1)
        c.say(f"MSS {mss}", len(seg.data) if seg else None)


# RFC 7323 --------------------------------------------------------------------------------------------

def time_stamps(c):
    f, s = c.open(TS)
    c.put(f, "data", "P. 1:11(10) ack 1 <TS 200 0>")
    c.put(f, "without any", "P. 11:21(10) ack 1")
    c.put(f, "old ones", "P. 21:31(10) ack 1 <TS 50 0>")
    c.put(f, "old ones, no data", ". 21:21(0) ack 1 <TS 50 0>")
    c.put(f, "the same, overtaken by data", ". 20:20(0) ack 1 <TS 60 0>")
    c.put(f, "the same, and a wider window", ". 21:21(0) ack 1 win 300 <TS 70 0>")
    c.put(f, "the same, lately", ". 21:21(0) ack 1 <TS 190 0>")
    c.put(f, "equal ones", "P. 21:31(10) ack 1 <TS 200 0>")
    c.put(f, "an echo of the future", "P. 31:41(10) ack 1 <TS 210 99999>")
    c.put(f, "no echo", "P. 41:51(10) ack 1 <TS 210 0>")
    c.put(f, "beyond a hole", "P. 61:71(10) ack 1 <TS 300 0>")
    c.put(f, "older than that one", "P. 51:61(10) ack 1 <TS 250 0>")
    c.put(f, "a reset with old ones", "R 71:71(0) <TS 40 0>")
    c.reads(s)


def unasked_time_stamps(c):
    f, s = c.open()
    c.put(f, "data", "P. 1:11(10) ack 1 <TS 200 0>")
    c.put(f, "old ones", "P. 11:21(10) ack 1 <TS 100 0>")
    c.reads(s)


# RFC 9293 3.10: numbers -------------------------------------------------------------------------------

def wrapped(c):
    """MUST-1: all is modulo 2^32."""
    ls = c.t.listen()
    f = c.t.flow()
    f.iss = f.acked = MASK - 20
    c.t.shake(f)
    s, _ = ls.accept()
    c.t.keep(s)
    c.answers(f, 0.03)
    c.put(f, "up to the end", "P. 1:16(15) ack 1")
    c.put(f, "beyond a hole behind it", "P. 31:41(10) ack 1")
    c.put(f, "across", "P. 16:31(15) ack 1")
    c.put(f, "again", "P. 11:31(20) ack 1")
    c.reads(s)
    c.put(f, "a FIN", "F. 41:41(0) ack 1")


def window(c):
    """RFC 9293 3.8.6: the peer's window shrinks, old segments do not change it, a probe of no window is answered."""
    f, s = c.open("mss 1024,sackOK,wscale 7")
    c.put(f, "less, by the same numbers", ". 1:1(0) ack 1 win 8", seconds=0.02)
    s.send(payload(1, 3072))
    c.say("sends", c.answers(f, 0.02))
    c.put(f, "an older one", ". 0:0(0) ack 1 win 200", seconds=0.02)
    c.put(f, "all, and 1024 bytes", ". 1:1(0) ack 3073 win 8", seconds=0.02)
    s.send(payload(3073, 3072))
    c.say("sends", c.answers(f, 0.02))
    c.put(f, "more, by the same numbers", ". 1:1(0) ack 3073 win 16", seconds=0.02)
    c.put(f, "none, by the same numbers", ". 1:1(0) ack 3073 win 0", seconds=0.02)


def keepalive_probes(c):
    """RFC 1122 4.2.3.6: such a segment is answered, with a byte and without."""
    f, s = c.open()
    c.put(f, "data", "P. 1:11(10) ack 1")
    c.put(f, "no byte", ". 10:10(0) ack 1")
    c.put(f, "a byte", ". 10:11(1) ack 1", b"?")
    c.put(f, "a byte of the window's beginning", ". 11:12(1) ack 1", b"k")
    c.reads(s)


def urgent(c):
    """RFC 6093."""
    f, s = c.open()
    c.put(f, "pointer 0", "P.U 1:11(10) ack 1 urg 0")
    c.put(f, "behind the data", "P.U 11:21(10) ack 1 urg 15")
    c.say("mark", s.polled())
    c.put(f, "without data", ".U 21:21(0) ack 1 urg 5")
    c.put(f, "the data", "P. 21:31(10) ack 1")
    c.put(f, "pointer without the flag", "P. 31:41(10) ack 1 urg 5")
    c.say("then", (s.polled(), got(s)))
    c.say("the rest", (s.polled(), got(s)))


def sack_blocks(c):
    """RFC 2018, 6675: blocks that cannot be are not believed."""
    f, s = c.open()
    s.send(payload(1, 8000))
    c.say("sends", c.answers(f, 0.03))
    for blocks in "2001:1001", "2001:2001", "8001:9001", "7001:9001", "0:1", "1:8001":
        f.put(f". 1:1(0) ack 1 <sack {blocks}>")
    c.say("six of them", c.answers(f, 0.03))
    for i in range(3):
        f.put(". 1:1(0) ack 1")
    c.say("three without any", c.answers(f, 0.03))


# Handshakes -------------------------------------------------------------------------------------------

def dialled(c, what, spec, then=(), raw=None):
    s = c.t.keep(c.t.far.begin_connect(c.t.net.addr, c.t.port))
    f = c.t.flow(0)
    c.t.net.flows.pop((f.sport, f.dport))
    f.sport, f.dport = c.t.port, s.getsockname()[1]
    c.t.net.flows[(f.sport, f.dport)] = f
    f.get("S 0:0(0)")
    c.put(f, what, spec, raw=raw, seconds=0.06)
    for spec in then:
        c.put(f, f"{what}, then {spec}", spec, seconds=0.06)
    c.say(what, (s.polled(), so_error(s)))
    c.t.end()
    c.t.begin()


def answers_to_a_syn(c):
    """RFC 9293 3.10.7.3."""
    good = f"S. 0:0(0) ack 1 win 5000 <{OPTS}>"
    dialled(c, "twice", good, [good, "P. 1:11(10) ack 1 win 50"])
    dialled(c, "then another one", good, ["S. 5:5(0) ack 1 win 5000"])
    dialled(c, "no window", f"S. 0:0(0) ack 1 win 0 <{OPTS}>", [". 1:1(0) ack 1 win 50"])
    dialled(c, "urgent", f"S.U 0:0(0) ack 1 win 5000 urg 1 <{OPTS}>")
    dialled(c, "a SYN with data", f"S 0:10(10) win 5000 <{OPTS}>", [". 1:1(0) ack 1 win 50", "P. 1:11(10) ack 1 win 50"])
    dialled(c, "no ACK, no SYN", "P 1:11(10) win 50", [good])
    dialled(c, "a FIN alone", "F 0:0(0) win 50", [good])
    dialled(c, "an ACK in order", ". 1:1(0) ack 1 win 50", [good])
    dialled(c, "ACK 0", "S. 0:0(0) ack 0 win 5000 <mss 1000>", [good])
    dialled(c, "window scale 15", f"S. 0:0(0) ack 1 win 5000 <mss 1000>", raw=b"\3\3\x0f\1")


def half_open(c):
    """RFC 9293 3.10.7.4 in SYN-RECEIVED."""
    for what, spec in (("data beyond a hole", "P. 11:21(10) ack 1 win 257"), ("data that are old", ". 0:1(1) ack 1 win 257"),
                       ("an ACK too large", ". 1:1(0) ack 2 win 257"), ("an ACK too small", ". 1:1(0) ack 0 win 257"),
                       ("a SYN-ACK", "S. 0:0(0) ack 1 win 257"),
                       ("a FIN beyond a hole", "F. 11:11(0) ack 1 win 257"), ("no ACK", "P 1:11(10) win 257"),
                       ("urgent", "P.U 1:11(10) ack 1 win 257 urg 3"), ("beyond the window", "P. 9000001:9000011(10) ack 1 win 257")):
        ls = c.t.listen()
        f = c.t.flow()
        f.put(f"S 0:0(0) win 32792 <{OPTS}>")
        f.get("S. 0:0(0) ack 1")
        c.put(f, what, spec)
        c.say(what, ls.polled())
        c.t.end()
        c.t.begin()


def syns(c):
    """What else is no SYN for a listener, or one."""
    for what, spec in (("with a FIN", "SF 0:0(0) win 32792 <mss 1000>"), ("with a reset", "SR 0:0(0) win 32792"),
                       ("with data", "S 0:10(10) win 32792 <mss 1000>"), ("urgent", "SU 0:0(0) win 32792 urg 1 <mss 1000>"),
                       ("with PSH", "SP 0:0(0) win 32792 <mss 1000>"), ("no window", "S 0:0(0) win 0 <mss 1000>")):
        c.t.listen()
        f = c.t.flow()
        c.put(f, what, spec)
        f.put("R 1:1(0)")
        c.t.end()
        c.t.begin()


def cookies(c):
    """RFC 7413 4.1.1: cookies of lengths that none has, and data without one."""
    for n in (2, 3, 4, 7, 16, 18):
        ls = c.t.listen([(TCP, 23, 5)])
        f = c.t.flow()
        f.tfo = bytes(n)
        c.put(f, f"{n} bytes", "S 0:10(10) win 32792 <mss 1000,tfo =>")
        c.say(f"{n} bytes", ls.polled())
        c.t.end()
        c.t.begin()
    ls = c.t.listen([(TCP, 23, 5)])
    f = c.t.flow()
    c.put(f, "asked with data", "S 0:10(10) win 32792 <mss 1000,tfo>")
    c.say("asked with data", ls.polled())


# Ends -------------------------------------------------------------------------------------------------

def fins(c):
    """RFC 9293 3.10.7.4: what comes behind a FIN, and FINs that do not fit."""
    f, s = c.open()
    c.put(f, "a FIN beyond a hole", "F. 11:21(10) ack 1")
    c.put(f, "the hole", "P. 1:11(10) ack 1")
    c.reads(s)
    c.put(f, "data behind the end", "P. 22:32(10) ack 1")
    c.put(f, "another FIN", "F. 32:32(0) ack 1")
    c.put(f, "the FIN again, with data", "F. 11:21(10) ack 1")
    s.send(payload(1, 10))
    c.say("sends", c.answers(f))
    s.close()
    c.say("closes", c.answers(f))
    c.put(f, "both", ". 22:22(0) ack 12")
    c.put(f, "later", ". 22:22(0) ack 12")


def time_wait(c):
    """RFC 9293 3.10.7.4, RFC 1337, RFC 6191."""
    f, s = c.open(TS)
    s.close()
    c.say("closes", c.answers(f))
    c.put(f, "all at once", "F. 1:1(0) ack 2 <TS 200 0>")
    c.put(f, "the FIN again", "F. 1:1(0) ack 2 <TS 210 0>")
    c.put(f, "data", "P. 2:12(10) ack 2 <TS 220 0>")
    c.put(f, "old data", "P. 0:1(1) ack 2 <TS 220 0>")
    c.put(f, "an ACK too large", ". 2:2(0) ack 200 <TS 220 0>")
    time.sleep(0.55)  # (tcp_invalid_ratelimit)
    c.put(f, "an old stamp", ". 2:2(0) ack 2 <TS 20 0>")
    c.put(f, "a SYN with an old stamp", "S 1:1(0) win 500 <mss 1000,TS 30 0>")
    c.put(f, "a reset beside it", "R 100:100(0) <TS 230 0>")
    c.put(f, "the FIN once more", "F. 1:1(0) ack 2 <TS 240 0>")


def half_closed(c):
    """RFC 9293 3.6 (MUST-12, 13): no more reading, and data come; then no more writing."""
    f, s = c.open()
    s.shutdown(socket.SHUT_WR)
    c.say("shut", c.answers(f))
    c.put(f, "acknowledged, with data", "P. 1:11(10) ack 2")
    c.reads(s)
    s.shutdown(socket.SHUT_RD)
    c.put(f, "data", "P. 11:21(10) ack 2")
    c.say("then", s.polled())
    c.put(f, "the end", "F. 21:21(0) ack 2")
    c.say("then", s.polled())


def reordered_fast(c):
    """RFC 8985 6.2: a segment that two of its followers have passed is not lost before the reordering window's end."""
    f, s = c.open(TS)
    s.send(payload(1, 4000))
    c.say("sends", c.answers(f, 0.04))
    f.put(". 1:1(0) ack 1 <TS 110 0,sack 1001:2001>")
    f.put(". 1:1(0) ack 1 <TS 110 0,sack 1001:3001>")
    f.put(". 1:1(0) ack 1 <TS 110 0,sack 1001:4001>")
    c.say("three", c.answers(f, 0.15))
    c.put(f, "all, and a DSACK", ". 1:1(0) ack 4001 <TS 120 0,sack 1:1001>")
    s.send(payload(4001, 4000))
    c.say("sends", c.answers(f, 0.04))


CASES = [options_of_a_syn, options_of_data, header, segment_sizes, time_stamps, unasked_time_stamps, wrapped, window,
         keepalive_probes, urgent, sack_blocks, answers_to_a_syn, half_open, syns, cookies, fins, time_wait, half_closed,
         reordered_fast]


def main():
    device, ghost, ghost_mac, subject, subject_mac, ctl, *wanted = sys.argv[1:]
    t = T(Net(device, ghost_mac, ghost, subject_mac, subject), Far(ctl))
    for case in CASES:
        if wanted and case.__name__ not in wanted:
            continue
        t.begin()
        try:
            case(Case(t, case.__name__.replace("_", " ")))
        except (Wrong, OSError, RuntimeError) as e:
            say(case.__name__, e)
        t.end()


main()
