# SPDX-License-Identifier: BSD-2-Clause
"""tcp_random.py SUBJECT FAR SEED: transfers with a subject behind FAR, as the seed has it: who sends, how much, with
which buffers. Runs on host a, by the kernel. Prints `time retransmissions doubles time-outs` of the subject, or what was
wrong with the bytes.

tcp_random.py options SEED: prints the wire's options for that seed, and the MTU.
tcp_random.py judge FILE: compares the lines that tcp_random.sh has gathered (mode, seed, the four numbers)."""
import statistics
import sys

from tcplib import *

faulthandler.cancel_dump_traceback_later()
faulthandler.dump_traceback_later(150, exit=True)
INFO = {"retrans": (100, "I"), "dsack": (216, "I"), "rto": (240, "H")}


def plan(seed):
    r = random.Random(seed)
    p = {"way": r.choice(["out", "in", "both"]), "total": r.choice([30000, 200000, 600000])}
    for name in ("their_rcv", "their_snd", "our_rcv", "our_snd"):
        p[name] = r.choice([0, 0, 0, 4096, 20000, 65536])
    if any(0 < p[x] < 5000 for x in p if x.endswith(("rcv", "snd"))):
        p["total"] = 30000
    wire = ["--seed", str(seed), "--delay", r.choice(["100us", "2ms", "10ms", "25ms"])]
    kind = r.choice(["clean", "loss", "loss", "runs", "reorder", "dup", "jitter", "all", "narrow"])
    if kind in ("loss", "all"):
        wire += ["--loss", r.choice(["0.5%", "2%", "5%"])]
    if kind == "runs":
        wire += ["--loss", r.choice(["1%/4", "0.5%/10"])]
    if kind in ("reorder", "all"):
        wire += ["--reorder", r.choice(["2%/3", "5%/2", "1%/12"])]
    if kind in ("dup", "all"):
        wire += ["--dup", r.choice(["1%", "5%"])]
    if kind in ("jitter", "all"):
        wire += ["--jitter", r.choice(["1ms", "5ms"])]
    if kind == "narrow":
        wire += ["--rate", r.choice(["5mbit", "20mbit"]), "--limit", r.choice(["20", "100"])]
    return p, wire, r.choice([1500, 1500, 1400, 1280])


def main():
    subject, ctl, seed = sys.argv[1], sys.argv[2], int(sys.argv[3])
    p, _, _ = plan(seed)
    far = Far(ctl)
    ls = far.tcp(subject, 7400, None)
    ls.setsockopt(TCP, socket.TCP_CONGESTION, b"cubic")
    for name, option in (("their_rcv", socket.SO_RCVBUF), ("their_snd", socket.SO_SNDBUF)):
        if p[name]:
            ls.setsockopt(SOL, option, p[name])
    ls.listen(4)
    s = tcp(six=is6(subject))
    s.setsockopt(TCP, socket.TCP_CONGESTION, b"cubic")
    for name, option in (("our_rcv", socket.SO_RCVBUF), ("our_snd", socket.SO_SNDBUF)):
        if p[name]:
            s.setsockopt(SOL, option, p[name])
    s.settimeout(60)
    s.connect((subject, 7400))
    theirs, _ = ls.accept()
    began = time.monotonic()
    if p["way"] == "out":
        wait, mine = far.later(theirs, "pour", seed, p["total"]), drain(s, seed, p["total"])
        wait()
    elif p["way"] == "in":
        wait = far.later(theirs, "drain", seed, p["total"])
        pour(s, seed, p["total"])
        mine = wait()
    else:
        wait = far.later(theirs, "swap", seed, seed + 1, p["total"])
        mine = swap(s, seed + 1, seed, p["total"])
        theirs_said = wait()
        mine = mine if mine is not True else theirs_said
    took = time.monotonic() - began
    info = theirs.getsockopt(TCP, socket.TCP_INFO, 248)
    if mine is not True:
        print(f"wrong: {mine}")
        sys.exit(1)
    print(f"{took:.3f}", *(struct.unpack_from(kind, info, at)[0] for at, kind in INFO.values()))
    theirs.close()
    s.close()
    ls.close()
    far.forget()


def judge(path):
    """The medians of both modes for each seed. Fails if the ratios of times have a median above 1.3."""
    runs = {}
    for line in open(path):
        mode, seed, *numbers = line.split()
        runs.setdefault(int(seed), {}).setdefault(mode == "kernel", []).append([float(x) for x in numbers])
    ratios, sums = [], {True: [0] * 4, False: [0] * 4}
    for seed, by in sorted(runs.items()):
        if len(by) < 2:
            continue
        mid = {k: [statistics.median(col) for col in zip(*v)] for k, v in by.items()}
        for k in mid:
            sums[k] = [a + b for a, b in zip(sums[k], mid[k])]
        # (below a twentieth of a second it is the start of the programs that takes the time)
        ratio = max(mid[False][0], 0.05) / max(mid[True][0], 0.05)
        ratios.append(ratio)
        p, wire, mtu = plan(seed)
        say(f"seed {seed}: {ratio:.2f} of the kernel's {mid[True][0]:.2f} s; sent again, doubles, time-outs "
            f"{mid[True][1:]} and {mid[False][1:]}; {p['way']} {p['total']} buffers "
            f"{[p[x] for x in ('their_rcv', 'their_snd', 'our_rcv', 'our_snd')]} mtu {mtu} {' '.join(wire)}")
    say(f"{len(ratios)} seeds: ratio {statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f}); all "
        f"seconds, sent again, doubles, time-outs: kernel {sums[True]}, ours {sums[False]}")
    sys.exit(statistics.median(ratios) > 1.3)


if sys.argv[1] == "options":
    print(plan(int(sys.argv[2]))[2], *plan(int(sys.argv[2]))[1])
elif sys.argv[1] == "judge":
    judge(sys.argv[2])
else:
    main()
