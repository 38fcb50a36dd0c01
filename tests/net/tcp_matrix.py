# SPDX-License-Identifier: BSD-2-Clause
"""tcp_matrix.py DEVICE GHOST GHOST_MAC SUBJECT SUBJECT_MAC FAR [STATE...]: each kind of segment in each state of a
connection, at each side of the window: what is answered, what the program sees, and whether the connection goes on.
The peer is a script of raw frames (segpeer.py); a fact is one line, the same for each implementation. Further lines:
segments in every order, and segments that overlap.

With SHORT=1 each state gets a seventh of its segments, and the orders are fewer."""
import itertools
import sys

from segscript import *

faulthandler.cancel_dump_traceback_later()
faulthandler.dump_traceback_later(350, exit=True)
SHORT = os.environ.get("SHORT") == "1"
QUIET = 0.25
DEAF = 1 << 20  # far beyond each window


def settle(net, seconds=QUIET):
    """Takes what comes until nothing has come for that time."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if net.receive(end - time.monotonic()):
            end = time.monotonic() + seconds


def told(f, segs):
    """What has come, each only once; without sizes of windows and values of time stamps."""
    out = []
    for s in segs:
        if not s.good:
            raise Wrong("a bad checksum: " + f.show(s))
        seq, ack = f.relative(s)
        signed = lambda x: ((x - f.iss + (1 << 31)) & MASK) - (1 << 31)
        text = "".join(c for c, b in FLAGS.items() if s.flags & b and c != "P") or "-"
        # (an initial number is chosen at random)
        text += f" {'zero' if not s.seq else 'new' if s.flags & FLAGS['S'] and seq else seq}({len(s.data)})"
        if s.flags & FLAGS["."]:
            text += f" ack {ack}"
        sack = " ".join(f"{signed(a)}:{signed(b)}" for a, b in s.opts.get("sack", []))
        if sack:
            text += f" sack {sack}"
        if text not in out:
            out.append(text)
    return ", ".join(out) or "nothing"


class Case:
    """One connection in a state: the flow, the socket (or None), the next numbers of both sides, and the oldest one
    that the peer has not acknowledged."""

    def __init__(self, flow, sock, rcv, una, nxt):
        self.flow, self.sock, self.rcv, self.una, self.nxt = flow, sock, rcv, una, nxt


def peer_ends(cases, fin, answer):
    """The peer of each sends its FIN, which is answered."""
    for c in cases:
        c.flow.put(fin)
        c.rcv = 2
    for c in cases:
        c.flow.until(answer)
    return cases


def program_ends(cases, fin):
    """The program of each sends its FIN."""
    for c in cases:
        c.sock.shutdown(socket.SHUT_WR)
        c.nxt = 2
    for c in cases:
        c.flow.until(fin)
    return cases


class Matrix:
    def __init__(self, t):
        self.t, self.net, self.far = t, t.net, t.far
        self.wide = 0

    def shaken(self, count, opts=OPTS):
        """So many accepted connections."""
        self.t.port += 1
        ls = self.far.tcp(self.net.their_addr, self.t.port, None)
        ls.listen(count + 1)
        flows = [self.t.flow() for _ in range(count)]
        by_port = {f.sport: f for f in flows}
        for f in flows:
            self.t.shake(f, opts)
        cases = []
        for _ in flows:
            s, peer = ls.accept()
            f = by_port[peer[1]]
            cases.append(Case(f, s, 1, 1, 1))
        self.t.keep(ls)  # (it is the one that answers for TIME_WAIT)
        return cases

    # The states --------------------------------------------------------------------------------
    def closed(self, n):
        self.t.port += 1
        return [Case(self.t.flow(), None, 0, 0, 0) for _ in range(n)]

    def listen(self, n):
        self.t.port += 1
        ls = self.t.listen(backlog=n + 1)
        return [Case(self.t.flow(), None, 0, 0, 0) for _ in range(n)]

    def dialled(self, n):
        self.t.port += 1
        out = []
        for _ in range(n):
            s = self.far.begin_connect((self.net.addr), self.t.port)
            f = self.t.flow(s.getsockname()[1])
            self.net.flows.pop((f.sport, f.dport))
            f.sport, f.dport = self.t.port, f.sport
            self.net.flows[(f.sport, f.dport)] = f
            out.append(Case(f, s, 0, 0, 1))
        for c in out:
            s = c.flow.take()
            while s is not None and not s.flags & FLAGS["S"]:
                s = c.flow.take()
            if s is None:
                raise Wrong("no SYN")
        return out

    syn_sent = dialled

    def syn_received(self, n):
        self.t.port += 1
        self.t.listen(backlog=n + 1)
        out = []
        for _ in range(n):
            f = self.t.flow()
            f.put(f"S 0:0(0) win 32792 <{OPTS}>")
            f.get("S. 0:0(0) ack 1")
            out.append(Case(f, None, 1, 0, 1))
        return out

    def syn_crossed(self, n):
        out = self.dialled(n)
        for c in out:
            c.flow.put(f"S 0:0(0) win 32792 <{OPTS}>")
            c.flow.until("S. 0:0(0) ack 1")
            c.rcv = 1
        return out

    def established(self, n):
        return self.shaken(n)

    def close_wait(self, n):
        return peer_ends(self.shaken(n), "F. 1:1(0) ack 1", ". 1:1(0) ack 2")

    def fin_wait_1(self, n):
        return program_ends(self.shaken(n), "F. 1:1(0) ack 1")

    def fin_wait_2(self, n):
        out = self.fin_wait_1(n)
        for c in out:
            c.flow.put(". 1:1(0) ack 2")
            c.una = 2
            self.far.call("becomes", c.sock, "FIN_WAIT2")
        return out

    def closing(self, n):
        return peer_ends(self.fin_wait_1(n), "F. 1:1(0) ack 1", ". *:*(0) ack 2")

    def last_ack(self, n):
        return program_ends(self.close_wait(n), "F. 1:1(0) ack 2")

    def time_wait(self, n):
        out = peer_ends(self.fin_wait_2(n), "F. 1:1(0) ack 2", ". 2:2(0) ack 2")
        for c in out:
            c.sock.close()
            c.sock = None
        return out

    def time_wait_closing(self, n):
        out = self.closing(n)
        for c in out:
            c.flow.put(". 2:2(0) ack 2")
            self.far.call("becomes", c.sock, "CLOSE")
            c.una = 2
            c.sock.close()
            c.sock = None
        return out

    # The segments ------------------------------------------------------------------------------
    def kinds(self, state):
        seqs = ["-2000", "-1", "0", "1", "500", "far"] if state not in ("closed", "listen", "syn_sent") else ["0"]
        acks = ["nxt", "una", "una-1", "nxt+1", "nxt-far", "nxt+far"]
        out = []
        for flags in ("", "F", "S", "R", "SF", ".", "P.", "F.", "S.", "R.", "SF.", "FP.U", "SR.", "U."):
            for seq in seqs:
                for ack in acks if "." in flags else ["-"]:
                    if self.is_told(state, flags, seq, ack):
                        out.append((flags, seq, ack))
        return out

    def is_told(self, state, flags, seq, ack):
        """False: lib/tcp/README.md says how we differ."""
        if state == "syn_received" and "S" in flags and "R" not in flags:
            return seq in ("-2000", "-1", "far") or ack not in ("-", "nxt")
        if state == "syn_crossed" and ack == "una":
            return False
        if state == "syn_sent" and flags == "SF.":
            return ack != "nxt"
        if state.startswith("fin_wait") and "F" in flags and "S" not in flags and seq == "1":
            return False
        # The urgent pointer behind a FIN.
        return flags != "FP.U" or state not in ("close_wait", "closing", "last_ack") and seq != "-1"

    def put(self, c, flags, seq, ack):
        where = c.rcv + (DEAF if seq == "far" else int(seq))
        to = {"-": 0, "nxt": c.nxt, "una": c.una, "una-1": c.una - 1, "nxt+1": c.nxt + 1,
              "nxt-far": c.nxt - DEAF, "nxt+far": c.nxt + DEAF}[ack]
        data = payload(where, 10) if "P" in flags else b""
        bits = sum(FLAGS[x] for x in flags)
        f = c.flow
        opts = {"mss": 1000} if "S" in flags else {}
        self.net.send(self.net.frame(Seg(sport=f.sport, dport=f.dport, seq=f.iss + where,
                                         ack=(f.irs or 0) + to if "." in flags else 0, flags=bits, win=257,
                                         urg=3 if "U" in flags else 0, opts=opts, data=data)))

    def seen(self, c):
        if not c.sock:
            return "-"
        return "/".join(str(x) for x in self.far.call("seen", c.sock))

    def answers(self, c, name):
        """What has come, but for a FIN or SYN that a timer repeats."""
        took, c.flow.queue = c.flow.queue, []
        skip = FLAGS["F"] if name in ("fin_wait_1", "closing", "last_ack") else \
            FLAGS["S"] if name in ("syn_sent", "syn_crossed", "syn_received") else 0
        return told(c.flow, [s for s in took if not s.flags & skip])

    def state(self, name):
        kinds = self.kinds(name)
        if SHORT:
            kinds = kinds[sum(name.encode()) % 7::7]
        cases = getattr(self, name)(len(kinds))
        settle(self.net)
        for c in cases:
            while c.flow.queue:
                c.flow.take()
        for c, k in zip(cases, kinds):
            self.put(c, *k)
        settle(self.net)
        first = []
        for c in cases:
            first.append((self.answers(c, name), self.seen(c)))
        # A byte in order tells whether the connection goes on. (With it the state is what the first segment left.)
        for c in cases:
            self.net.send(self.net.frame(Seg(sport=c.flow.sport, dport=c.flow.dport, seq=c.flow.iss + c.rcv,
                                             ack=(c.flow.irs or 0) + c.nxt, flags=FLAGS["."] | FLAGS["P"], win=257,
                                             data=payload(c.rcv, 1))))
        settle(self.net)
        for c, k, (answer, seen) in zip(cases, kinds, first):
            say(f"{name} {k[0] or 'none'} seq {k[1]} ack {k[2]}: {answer}; {seen}; then {self.answers(c, name)}; "
                f"{self.seen(c)}")
        for c in cases:
            c.flow.drop()
            if c.sock:
                attempt(self.far.call, "close_reset", c.sock)
        self.forget()

    def forget(self):
        for s in self.t.sockets:
            attempt(s.close)
        self.t.sockets, self.t.flows = [], []

    # Orders --------------------------------------------------------------------------------------
    def step(self, cases, pieces):
        """Sends the next piece of each case (from, to), then takes what comes, and returns it in words."""
        for c, (a, b) in zip(cases, pieces):
            c.flow.put(f". {1 + a}:{1 + b}({b - a}) ack 1 win 257")
        end = time.monotonic() + 3
        while time.monotonic() < end and not all(c.flow.queue for c in cases):
            self.net.receive(0.05)  # (each is answered at once: see sl_tcp_ack_data())
        settle(self.net, 0.05)
        out = []
        for c in cases:
            took, c.flow.queue = c.flow.queue, []
            out.append(told(c.flow, took))
        return out

    def orders(self, name, runs):
        """Each run is a list of pieces of the stream, in the order in which they come."""
        cases = self.shaken(len(runs))
        settle(self.net)
        for c in cases:
            c.flow.queue.clear()
        lines = [[] for _ in runs]
        for i in range(max(len(r) for r in runs)):
            live = [k for k, r in enumerate(runs) if i < len(r)]
            for k, text in zip(live, self.step([cases[k] for k in live], [runs[k][i] for k in live])):
                lines[k].append(text)
        for c, r, text in zip(cases, runs, lines):
            n = self.far.call("arrived", c.sock, 0)
            got = c.sock.recv(n) if n else b""
            say(f"{name} {r}: {' | '.join(text)}; {n} bytes, {got == payload(1, n)}")
            c.flow.drop()
            attempt(self.far.call, "close_reset", c.sock)
        self.forget()

    def permutations(self):
        runs = [[(100 * x, 100 * x + 100) for x in order] for order in itertools.permutations(range(5))]
        self.orders("order", runs[::7] if SHORT else runs)

    def overlaps(self):
        base = [(100, 200), (300, 400), (500, 600)]
        edges = list(range(50, 701, 50))
        pairs = [(a, b) for a, b in itertools.combinations(edges, 2)]
        self.orders("overlap", [base + [p, (0, 100), (0, 700)] for p in (pairs[::7] if SHORT else pairs)])


STATES = ["closed", "listen", "syn_sent", "syn_received", "syn_crossed", "established", "close_wait", "fin_wait_1",
          "fin_wait_2", "closing", "last_ack", "time_wait", "time_wait_closing"]


def main():
    device, ghost, ghost_mac, subject, subject_mac, ctl, *wanted = sys.argv[1:]
    t = T(Net(device, ghost_mac, ghost, subject_mac, subject), Far(ctl))
    t.begin()
    m = Matrix(t)
    for name in wanted or STATES + ["permutations", "overlaps"]:
        if name in STATES:
            m.state(name)
        else:
            getattr(m, name)()


main()
