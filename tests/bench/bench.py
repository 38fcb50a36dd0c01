# SPDX-License-Identifier: BSD-2-Clause
"""Runs floor, kernel and Sluice in one go, interleaved, and writes one table, JSON and plots.

Called by bench.sh, which makes the network and tells of it by the environment. Every figure is
the median of the rounds, every ratio the median of the rounds' own ratios; the spread is the
smallest and the largest. Nothing is asserted: the machine is what it is. The last part of the
table holds the project's goals against what this run showed.
"""
import argparse
import json
import os
import re
import resource
import statistics
import subprocess
import sys
import time

import apps
import lease
from hosts import (A4, B4, BIN, DEV_A, DEV_B, ENV, HAVE_SLUICE, MAC_B, NS, OUT, PORT, TMP, Server, kernel_segs,
                   listening, run, start, stop, tcp_works, wait_for, wait_line)


def bound(host, port):
    return bool(run(host, ["ss", "-Hanu", f"sport = :{port}"]).strip())


def quiet():
    """Until nobody has XDP on either device, so that one case does not see the one before."""
    def free():
        return all("xdp" not in run(h, ["ip", "link", "show", d])
                   for h, d in (("a", DEV_A), ("b", DEV_B)))
    wait_for(free, "the XDP program of the last case goes")
    time.sleep(0.05)


def kernel_in(host):
    """Datagrams that the kernel's UDP of a host delivered."""
    rows = [l.split() for l in run(host, ["cat", "/proc/net/snmp"]).splitlines()
            if l.startswith("Udp:")]
    return int(dict(zip(rows[0], rows[1]))["InDatagrams"])


# Latency ---------------------------------------------------------------------------------------
def floor_latency(size, seconds):
    pong = start("b", [BIN + "xdpfloor", "pong", DEV_B])
    wait_line(pong, "ready")
    out = run("a", [BIN + "xdpfloor", "ping", DEV_A, size, seconds])
    stop(pong)
    v = [float(x) for x in out.splitlines()[-1].split()]
    return {"p50_us": v[1] / 1e3, "p99_us": v[3] / 1e3, "n": v[0]}


def sockperf_latency(size, seconds, preload, spin):
    """preload: hosts whose program is preloaded ("", "b", "ab")."""
    flags = ["--nonblocked"] if spin else []
    server = start("b", ["sockperf", "sr", "-i", B4, "-p", PORT] + flags, "b" in preload)
    try:
        wait_for(lambda: bound("b", PORT), "sockperf's server binds")
        before = kernel_in("b")
        out = run("a", ["sockperf", "pp", "-i", B4, "-p", PORT, "-m", size, "-t", seconds] + flags,
                  "a" in preload)
        by_kernel = kernel_in("b") - before
    finally:
        stop(server)
    if "percentile 50.000" not in out:
        raise RuntimeError("sockperf gave no figures")
    pct = dict(re.findall(r"percentile (\d+\.\d+) = +([\d.]+)", out))
    bad = re.search(r"dropped messages = (\d+).*duplicated messages = (\d+).*"
                    r"out-of-order messages = (\d+)", out)
    n = int(re.search(r"ReceivedMessages=(\d+)", out).group(1))
    res = {"p50_us": float(pct["50.000"]), "p99_us": float(pct["99.000"]), "n": n,
           "dropped": int(bad.group(1)), "duplicated": int(bad.group(2)),
           "reordered": int(bad.group(3))}
    if "b" in preload:
        res["through_kernel"] = by_kernel
    return res


def latency_cases(sizes, seconds):
    for size in sizes:
        g = f"latency {size} B"
        yield g, "floor", lambda s=size: floor_latency(s, seconds)
        yield g, "kernel, spinning", lambda s=size: sockperf_latency(s, seconds, "", True)
        if HAVE_SLUICE:
            yield g, "Sluice, spinning", lambda s=size: sockperf_latency(s, seconds, "ab", True)
        yield g, "kernel, blocking", lambda s=size: sockperf_latency(s, seconds, "", False)
        if HAVE_SLUICE:
            yield g, "Sluice, blocking", lambda s=size: sockperf_latency(s, seconds, "ab", False)
            yield g, "Sluice one side, spinning", \
                lambda s=size: sockperf_latency(s, seconds, "b", True)


# Rates -----------------------------------------------------------------------------------------
def rate_of(out, column=0):
    return float([l for l in out.splitlines() if re.match(r"^[\d. ]+$", l)][-1].split()[column])


def receive_rate(who, batch, sources, seconds):
    """The flood is the floor's own sender; what differs is who receives."""
    if who == "floor":
        sink = start("b", [BIN + "xdpfloor", "rx", DEV_B, seconds + 0.5, "ip"])
        column = 0
        wait_line(sink, "ready")
    else:
        sink = start("b", [BIN + "udpsink", B4, PORT, f"seconds={seconds}", f"batch={batch}"],
                     who == "sluice")
        column = 1
        wait_for(lambda: bound("b", PORT), "udpsink binds")
        wait_line(sink, "ready")
    before = kernel_in("b")
    sent = rate_of(run("a", [BIN + "xdpfloor", "tx", DEV_A, 64, seconds + 0.2, 32, MAC_B, A4, B4,
                             PORT, sources]))
    by_kernel = kernel_in("b") - before
    out = sink.communicate(timeout=20)[0]
    res = {"pps": rate_of(out, column), "offered_pps": sent}
    if who == "sluice":
        res["through_kernel"] = by_kernel
    return res


def send_rate(who, batch, peers, seconds):
    """The receiver is the floor's own; what differs is who sends."""
    sink = start("b", [BIN + "xdpfloor", "rx", DEV_B, seconds + 0.5, "ip"])
    wait_line(sink, "ready")
    if who == "floor":
        out = run("a", [BIN + "xdpfloor", "tx", DEV_A, 64, seconds, batch, MAC_B, A4, B4, PORT, 1])
        sent = rate_of(out)
    else:
        out = run("a", [BIN + "udpblast", B4, PORT, f"seconds={seconds}", f"batch={batch}",
                        f"ports={peers}"], who == "sluice")
        sent = rate_of(out, 1)
    return {"pps": rate_of(sink.communicate(timeout=20)[0]), "sent_pps": sent}


def both_rate(who, batch, seconds):
    pre = who == "sluice"
    sink = start("b", [BIN + "udpsink", B4, PORT, f"seconds={seconds}", f"batch={batch}"], pre)
    wait_line(sink, "ready")
    run("a", [BIN + "udpblast", B4, PORT, f"seconds={seconds + 0.2}", f"batch={batch}"], pre)
    out = sink.communicate(timeout=20)[0]
    return {"pps": rate_of(out, 1), "misordered": rate_of(out, 2), "lost": rate_of(out, 3)}


def rate_cases(seconds):
    who = ["kernel"] + (["sluice"] if HAVE_SLUICE else [])
    names = {"kernel": "kernel", "sluice": "Sluice"}
    for sources in (1, 100):
        g = f"receive 64 B, {sources} peer" + "s" * (sources > 1)
        yield g, "floor", lambda s=sources: receive_rate("floor", 0, s, seconds)
        for w in who:
            for batch, call in ((1, "recv"), (32, "recvmmsg")):
                yield g, f"{names[w]}, {call}", \
                    lambda w=w, b=batch, s=sources: receive_rate(w, b, s, seconds)
    for peers in (1, 100):
        g = f"send 64 B, {peers} peer" + "s" * (peers > 1)
        for batch in (1, 32):
            yield g, f"floor, kick every {batch}", \
                lambda b=batch: send_rate("floor", b, 1, seconds)
        for w in who:
            for batch, call in ((1, "sendto"), (32, "sendmmsg")):
                yield g, f"{names[w]}, {call}", \
                    lambda w=w, b=batch, p=peers: send_rate(w, b, p, seconds)
    g = "send and receive 64 B"
    for w in who:
        for batch, call in ((1, "single"), (32, "mmsg")):
            yield g, f"{names[w]}, {call}", lambda w=w, b=batch: both_rate(w, b, seconds)


# What traffic that is not ours pays --------------------------------------------------------------
def steering_cost(kind, seconds):
    holder = None
    if kind == "bare XDP_PASS":
        holder = start("b", [BIN + "xdpfloor", "pong", DEV_B])
        wait_line(holder, "ready")
    elif kind == "Sluice attached":
        holder = start("b", [BIN + "many", B4, 6000, 1], True)
        wait_line(holder, "opened")
        wait_for(lambda: "xdp" in run("b", ["ip", "link", "show", DEV_B]), "Sluice attaches")
    try:
        res = both_rate("kernel", 1, seconds)
    finally:
        if holder:
            stop(holder)
    return res


def steering_cases(seconds):
    kinds = ["no XDP", "bare XDP_PASS"] + (["Sluice attached"] if HAVE_SLUICE else [])
    for kind in kinds:
        yield "kernel UDP beside it", kind, lambda k=kind: steering_cost(k, seconds)


# TCP ---------------------------------------------------------------------------------------------
def tcp_latency(size, seconds, preload, spin):
    flags = ["--tcp"] + (["--nonblocked"] if spin else [])
    with Server(["sockperf", "sr", "-i", B4, "-p", PORT] + flags, PORT, "b" in preload) as server:
        out = run("a", ["sockperf", "pp", "-i", B4, "-p", PORT, "-m", size, "-t", seconds] + flags,
                  "a" in preload)
        pct = dict(re.findall(r"percentile (\d+\.\d+) = +([\d.]+)", out))
        n = int(re.search(r"ReceivedMessages=(\d+)", out).group(1))
        return {"p50_us": float(pct["50.000"]), "p99_us": float(pct["99.000"]), "n": n,
                **server.through_kernel()}


def tcp_messages(seconds, preload, nodelay):
    """The manual's table 13: messages of 100 bytes a second. For `throughput` the option's name says
    the opposite of what it does: Nagle's algorithm is on there, and it turns it off."""
    flags = ["--tcp"] + (["--tcp-avoid-nodelay"] if nodelay else [])
    with Server(["sockperf", "sr", "-i", B4, "-p", PORT, "-g"] + flags, PORT, "b" in preload) as server:
        out = run("a", ["sockperf", "tp", "-i", B4, "-p", PORT, "-m", 100, "-t", seconds] + flags,
                  "a" in preload)
        rate = float(re.search(r"Message Rate is (\d+)", out).group(1))
        return {"mps": rate, **server.through_kernel()}


def message_floor(seconds, batch):
    """Frames as long as a segment with one message of 100 bytes: the most of those that could be sent."""
    sink = start("b", [BIN + "xdpfloor", "rx", DEV_B, seconds + 0.5])
    wait_line(sink, "ready")
    run("a", [BIN + "xdpfloor", "tx", DEV_A, 124, seconds, batch])
    return {"mps": rate_of(sink.communicate(timeout=20)[0])}


def tcp_bulk(seconds, preload, reverse):
    # A port of its own: its server closes first, and sockperf's does not bind beside a TIME_WAIT.
    port = PORT + 1
    with Server(["iperf3", "-s", "-1", "-p", port], port, "b" in preload) as server:
        out = run("a", ["iperf3", "-c", B4, "-p", port, "-t", seconds, "-J"] + (["-R"] if reverse else []),
                  "a" in preload)
        end = json.loads(out[out.index("{"):])["end"]
        return {"mbit": end["sum_received"]["bits_per_second"] / 1e6,
                "retransmitted": end["sum_sent"]["retransmits"], **server.through_kernel()}


def bulk_floor(seconds, reverse, answer=False):
    """What bare AF_XDP carries of full frames, as payload of segments with time stamps. answer: with
    a short frame back for every second, which is what acknowledging costs whoever does it."""
    src, dst = ("b", "a") if reverse else ("a", "b")
    dev = {"a": DEV_A, "b": DEV_B}
    sink = start(dst, [BIN + "xdpfloor", "rx", dev[dst], seconds + 0.5] + (["answer"] if answer else []))
    wait_line(sink, "ready")
    run(src, [BIN + "xdpfloor", "tx", dev[src], 1472, seconds, 32])
    pps = rate_of(sink.communicate(timeout=20)[0])
    return {"mbit": pps * 1448 * 8 / 1e6, "frames": pps}


def bulk_cases(seconds):
    who = [("kernel", "")]
    if tcp_works():
        who += [("Sluice one side", "b"), ("Sluice", "ab")]
    seconds = max(1, round(seconds))
    for reverse, way in ((False, "to b"), (True, "from b")):
        g = f"TCP bulk {way}"
        yield g, "floor, answered", lambda r=reverse: bulk_floor(seconds, r, True)
        yield g, "floor", lambda r=reverse: bulk_floor(seconds, r)
        yield g, "kernel, no GSO", \
            lambda r=reverse: without_gso(lambda: tcp_bulk(seconds, "", r))
        for name, preload in who:
            yield g, name, lambda p=preload, r=reverse: tcp_bulk(seconds, p, r)


def goodput(loss, mode, seconds, seed):
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "goodput.sh")
    done = subprocess.run(["bash", script, loss, mode, str(seconds), str(seed)], text=True,
                          capture_output=True, timeout=120)
    if done.returncode:
        raise RuntimeError(done.stdout + done.stderr)
    mbit, again = done.stdout.split()[-2:]
    return {"mbit": float(mbit), "retransmitted": float(again)}


def goodput_cases(seconds):
    """The wire loses by position, so the n-th round of each case loses the same ones."""
    who = [("kernel", "kernel")]
    if tcp_works():
        who += [("Sluice sends", "one"), ("Sluice", "both")]
    rounds = {}

    def once(key):
        rounds[key] = rounds.get(key, 0) + 1
        return goodput(*key, max(5, 4 * seconds), rounds[key])
    for loss in ("0.1%", "1%", "5%"):
        for name, mode in who:
            yield f"goodput, CUBIC, 20 ms, {loss} loss", name, lambda k=(loss, mode): once(k)


class NoGso:
    """The kernel's TCP without segmentation and receive offload, as on a plain NIC."""

    def __enter__(self):
        self.set("off")

    def __exit__(self, *_):
        self.set("on")

    def set(self, how):
        for h, d in (("a", DEV_A), ("b", DEV_B)):
            run(h, ["ethtool", "-K", d, "tso", how, "gso", how, "gro", how])


def without_gso(call):
    with NoGso():
        return call()


def tcp_cases(seconds):
    who = [("kernel", "")]
    if tcp_works():
        who += [("Sluice one side", "b"), ("Sluice", "ab")]
    seconds = max(1, round(seconds))
    g = "TCP latency 64 B"
    yield g, "floor", lambda: floor_latency(64, seconds)
    for name, preload in who:
        for spin, how in ((True, "spinning"), (False, "blocking")):
            yield g, f"{name}, {how}", lambda p=preload, s=spin: tcp_latency(64, seconds, p, s)
    for nodelay, how in ((True, "TCP_NODELAY"), (False, "Nagle")):
        g = f"TCP 100-byte messages, {how}"
        if nodelay:
            for batch, each in ((1, "each"), (32, "every 32")):
                yield g, f"floor, a segment each, kick {each}", lambda b=batch: message_floor(seconds, b)
        for name, preload in who:
            yield g, name, \
                lambda p=preload, n=nodelay: tcp_messages(seconds, p, n)


def lease_calls(seconds):
    """Group, metric, call: what is compared with and without the daemon."""
    for spin, how in ((True, "spinning"), (False, "blocking")):
        yield f"UDP ping-pong, {how}", "p50_us", lambda s=spin: sockperf_latency(64, seconds, "ab", s)
        yield f"TCP ping-pong, {how}", "p50_us", lambda s=spin: tcp_latency(64, seconds, "ab", s)
    for batch, recv, send in ((1, "recv", "sendto"), (32, "recvmmsg", "sendmmsg")):
        yield f"UDP {recv}", "pps", lambda b=batch: receive_rate("sluice", b, 1, seconds)
        yield f"UDP {send}", "pps", lambda b=batch: send_rate("sluice", b, 1, seconds)
    for nodelay, how in ((True, "TCP_NODELAY"), (False, "Nagle")):
        yield f"TCP messages, {how}", "mps", lambda n=nodelay: tcp_messages(seconds, "ab", n)
    yield "TCP bulk", "mbit", lambda: tcp_bulk(max(1, round(seconds)), "ab", False)


def tcp_goals(ratio):
    """What issue 3 asks for; only cases that were run are in it."""
    g = "TCP latency 64 B"
    ratio("TCP ping-pong 64 B, both sides: p50 at most 1.6 x floor", g, "Sluice, spinning", "floor",
          "p50_us", 1.6, True)
    ratio("at least 2 x better than the kernel spinning (its p50 / ours)", g, "kernel, spinning",
          "Sluice, spinning", "p50_us", 2, False)
    ratio("TCP messages of 100 bytes, --tcp-avoid-nodelay: at least 5 x the kernel",
          "TCP 100-byte messages, TCP_NODELAY",
          "Sluice", "kernel", "mps", 5, False)
    ratio("TCP messages of 100 bytes, without: at least 3 x the kernel",
          "TCP 100-byte messages, Nagle", "Sluice", "kernel", "mps", 3, False)
    for way in ("to b", "from b"):
        for case in ("Sluice one side", "Sluice"):
            ratio(f"TCP bulk {way}, {case}: above the kernel without GSO", f"TCP bulk {way}", case,
                  "kernel, no GSO", "mbit", 1, False)
            ratio(f"TCP bulk {way}, {case}: at least 0.8 x floor", f"TCP bulk {way}", case, "floor",
                  "mbit", 0.8, False)
    for loss in ("0.1%", "1%", "5%"):
        ratio(f"goodput with {loss} loss: at least that of the kernel's cubic",
              f"goodput, CUBIC, 20 ms, {loss} loss", "Sluice", "kernel", "mbit", 1, False)
    for case in ("Sluice accepts", "Sluice connects", "Sluice"):
        ratio(f"TCP connections a second, {case}: not below the kernel",
              "TCP connections a second (connect, close)", case, "kernel", "cps", 1, False)


# Many TCP connections ----------------------------------------------------------------------------
def slab():
    """Bytes that the kernel has for its objects: on a machine that does something else, too, this
    is what it says about both hosts at best."""
    rows = dict(l.split(":") for l in open("/proc/meminfo"))
    return int(rows["Slab"].split()[0]) * 1024


def tcp_rate(seconds, preload):
    """Connections a second: a opens, b closes at once, a reads the end and closes."""
    with Server([BIN + "tcpmany", "sink", B4, PORT], PORT, "b" in preload) as server:
        out = run("a", [BIN + "tcpmany", "rate", B4, PORT, seconds, 16], "a" in preload)
        cps, cpu = re.search(r"rate (\d+) (\d+)", out).groups()
        return {"cps": float(cps), "cpu_us_a": float(cpu) / 1e3, **server.through_kernel()}


class Many:
    """Holds count connections open; some of them are used, round robin, 64 requests at a time."""

    def __init__(self, count, preload):
        before = slab()
        argv = [BIN + "tcpmany", "serve", B4, PORT, count]
        self.server = start("b", argv, "b" in preload)
        wait_for(lambda: listening("b", PORT), "tcpmany listens")
        self.kernel_before = kernel_segs("b")
        phases = [x for n in ACTIVE if n <= count for x in (n, 1)]
        self.client = start("a", [BIN + "tcpmany", "hold", B4, PORT, count, ENV["SOURCES"], 4] + phases,
                            "a" in preload)
        self.opened = self.read(self.client, "opened")
        self.accepted = self.read(self.server, "accepted")
        self.slab = (slab() - before) / count
        self.active = {n: self.read(self.client, "active") for n in ACTIVE if n <= count}
        self.by_kernel = kernel_segs("b") - self.kernel_before
        for proc in (self.client, self.server):
            stop(proc)

    @staticmethod
    def read(proc, word):
        for line in proc.stdout:
            if line.startswith(word + " "):
                return [float(x) for x in line.split()[1:]]
        raise RuntimeError(f"tcpmany ended before it said {word}")


ACTIVE = (1, 10, 100, 1000, 10000)


def most_connections(want):
    """What a process may have descriptors for, less those of its own."""
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (1 << 20, 1 << 20))
    except (ValueError, OSError):
        pass  # without CAP_SYS_RESOURCE the hard limit stays
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1] - 1500
    if most < want:
        print(f"RLIMIT_NOFILE allows {most} connections instead of {want}", file=sys.stderr)
    return min(want, most)


def many_connections(res, count, rounds):
    """One process pair for each case gives rows of several groups."""
    for name, preload in [("kernel", "")] + ([("Sluice one side", "b"), ("Sluice", "ab")] if tcp_works() else []):
        for _ in range(rounds):
            quiet()
            try:
                m = Many(count, preload)
            except (RuntimeError, ValueError, subprocess.TimeoutExpired) as e:
                res.errors.append(f"{count} connections: {name}: {e}")
                continue
            res.put(f"{count:,} TCP connections, idle", name,
                    {"own_bytes_b": m.accepted[2], "own_bytes_a": m.opened[2], "slab_bytes_both": m.slab,
                     "open_us": m.opened[1] / 1e3, **({"through_kernel": m.by_kernel} if preload else {})})
            for n, row in m.active.items():
                res.put(f"TCP request and response, {n:,} of {count:,} connections in turn", name,
                        {"rps": row[1], "cpu_us_a": row[2] / 1e3})


def rate_of_connections(seconds):
    g = "TCP connections a second (connect, close)"
    yield g, "kernel", lambda: tcp_rate(seconds, "")
    if tcp_works():
        for name, preload in (("Sluice accepts", "b"), ("Sluice connects", "a"), ("Sluice", "ab")):
            yield g, name, lambda p=preload: tcp_rate(seconds, p)


# Memory and many sockets -------------------------------------------------------------------------
def many(preload, count=10000):
    host = start("b", [BIN + "many", B4, 10000, count], preload)
    try:
        line = host.stdout.readline().split()
        while line and line[0] != "opened":
            line = host.stdout.readline().split()
        if not line:
            raise RuntimeError("many ended early")
        for first in range(0, count, 1000):
            run("a", [BIN + "udpblast", B4, 10000 + first, "ports=1000", "count=1000",
                      "rate=20000"])
        time.sleep(0.3)
    finally:
        out = stop(host)
    answered = int(re.search(r"answered (\d+)", out).group(1))
    close_ns = float(re.search(r"closed \d+ (\d+)", out).group(1))
    return {"open_us": float(line[2]) / 1e3, "resident_bytes": float(line[3]),
            "close_us": close_ns / 1e3, "answered_of_10000": answered}


def many_cases():
    yield "10,000 sockets", "kernel", lambda: many(False)
    if HAVE_SLUICE:
        yield "10,000 sockets", "Sluice", lambda: many(True)


# Instructions per packet in user space -----------------------------------------------------------
def callgrind(host, argv):
    out = run(host, ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"] + argv,
              True, 300)
    return int(re.search(r"Collected : (\d+)", out).group(1))


def instructions_sending(batch):
    """The difference between a long and a short run, so that start-up does not count."""
    def ir(count):
        return callgrind("a", [BIN + "udpblast", B4, PORT, f"count={count}", f"batch={batch}"])
    sink = start("b", [BIN + "udpsink", B4, PORT, "seconds=60"])
    try:
        wait_line(sink, "ready")
        return {"instructions": (ir(40960) - ir(8192)) / 32768}
    finally:
        stop(sink)


def instructions_receiving(batch):
    def ir(count):
        sink = start("b", ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null",
                           BIN + "udpsink", B4, PORT, "seconds=60", f"batch={batch}",
                           f"count={count}"], True)
        wait_line(sink, "ready")
        # More than the sink can take: it always finds a batch waiting.
        blast = start("a", [BIN + "udpblast", B4, PORT, "seconds=60"])
        out = sink.communicate(timeout=120)[0]
        stop(blast)
        return int(re.search(r"Collected : (\d+)", out).group(1))
    return {"instructions": (ir(40960) - ir(8192)) / 32768}


def instruction_cases():
    if not HAVE_SLUICE:
        return
    g = "user-space instructions a datagram"
    for batch, call in ((1, "sendto"), (32, "sendmmsg")):
        yield g, call, lambda b=batch: instructions_sending(b)
    for batch, call in ((1, "recv"), (32, "recvmmsg")):
        yield g, call, lambda b=batch: instructions_receiving(b)


# Results -----------------------------------------------------------------------------------------
MAIN = ["p50_us", "pps", "mps", "mbit", "cps", "rps", "own_bytes_b", "open_us", "instructions"]


class Results:
    def __init__(self):
        self.values = {}  # group -> case -> [one dict a round]
        self.errors = []

    def add(self, group, case, call):
        """One round of a case; what a starved machine spoils is tried again, and told."""
        cases = self.values.setdefault(group, {}).setdefault(case, [])
        for _ in range(3):
            quiet()
            try:
                cases.append(call())
                return
            except (RuntimeError, AttributeError, KeyError, IndexError, ValueError,
                    subprocess.TimeoutExpired) as e:
                self.errors.append(f"{group}: {case}: {e}")
                print(f"  error: {group}: {case}: {e}", file=sys.stderr)
        cases.append(None)

    def put(self, group, case, values):
        self.values.setdefault(group, {}).setdefault(case, []).append(values)

    def series(self, group, case, metric):
        rounds = self.values.get(group, {}).get(case, [])
        return [r[metric] if r and metric in r else None for r in rounds]

    def median(self, group, case, metric):
        v = [x for x in self.series(group, case, metric) if x is not None]
        return statistics.median(v) if v else None

    def ratio(self, group, case, base, metric):
        """Median, smallest and largest of case/base, round by round."""
        pairs = zip(self.series(group, case, metric), self.series(group, base, metric))
        v = [x / y for x, y in pairs if x is not None and y]
        return (statistics.median(v), min(v), max(v)) if v else None


def number(v):
    if v is None:
        return "-"
    return f"{v:,.0f}" if v >= 1000 else f"{v:.2f}" if v < 100 else f"{v:.0f}"


def table(res):
    lines = []
    for group, cases in res.values.items():
        names = list(cases)
        floors = [n for n in names if n.startswith("floor")]
        base = floors[-1] if floors else names[0]
        lines.append(f"{group}  (ratio to: {base})")
        for case in names:
            metrics = {m: None for rounds in cases[case] if rounds for m in rounds}
            main = next((m for m in MAIN if m in metrics), None)
            if not main:
                lines.append(f"  {case:28} failed")
                continue
            v = [x for x in res.series(group, case, main) if x is not None]
            text = f"  {case:28} {main:>12} {number(statistics.median(v)):>10}" \
                   f"  [{number(min(v))} .. {number(max(v))}]"
            ratio = res.ratio(group, case, base, main)
            if ratio and case != base:
                text += f"  x {ratio[0]:.2f} [{ratio[1]:.2f} .. {ratio[2]:.2f}]"
            lines.append(text)
            rest = [f"{m} {number(res.median(group, case, m))}" for m in metrics if m != main]
            if rest:
                lines.append(f"  {'':28} {', '.join(rest)}")
        lines.append("")
    return lines


def goals(res):
    """What issues 2 to 4 ask for, against this run."""
    lines = ["goals"]

    def goal(text, got, good):
        lines.append(f"  {'met    ' if good else 'NOT MET'}  {text}: {got}")

    def ratio(text, group, case, base, metric, limit, at_most):
        r = res.ratio(group, case, base, metric)
        if r:
            goal(text, f"{r[0]:.2f} [{r[1]:.2f} .. {r[2]:.2f}]",
                 r[0] <= limit if at_most else r[0] >= limit)

    g = "latency 64 B"
    for kind in ("spinning", "blocking"):
        ratio(f"ping-pong 64 B, {kind}: p50 at most 1.4 x floor", g, f"Sluice, {kind}", "floor",
              "p50_us", 1.4, True)
    ratio("at least 2 x better than the kernel spinning (its p50 / ours)", g, "kernel, spinning",
          "Sluice, spinning", "p50_us", 2, False)
    ratio("blocking at least 20 x better than the kernel blocking", g, "kernel, blocking",
          "Sluice, blocking", "p50_us", 20, False)
    for case in ("Sluice, spinning", "Sluice, blocking"):
        rounds = [r for r in res.values.get(g, {}).get(case, []) if r]
        if rounds:
            bad = sum(r["dropped"] + r["duplicated"] + r["reordered"] for r in rounds)
            goal(f"{case}: no loss, duplicates, reordering", bad, bad == 0)
    g = "receive 64 B, 1 peer"
    for call in ("recv", "recvmmsg"):
        ratio(f"receive rate ({call}) at least 0.9 x floor", g, f"Sluice, {call}", "floor", "pps",
              0.9, False)
        ratio(f"receive rate ({call}) above the kernel's", g, f"Sluice, {call}", f"kernel, {call}",
              "pps", 1, False)
    g = "send 64 B, 1 peer"
    ratio("send rate (sendmmsg) at least 0.9 x floor", g, "Sluice, sendmmsg", "floor, kick every 32",
          "pps", 0.9, False)
    ratio("send rate (sendmmsg) above the kernel's", g, "Sluice, sendmmsg", "kernel, sendmmsg",
          "pps", 1, False)
    g = "kernel UDP beside it"
    ratio("steering leaves the kernel's UDP at least 0.95 of its rate (to no XDP)", g,
          "Sluice attached", "no XDP", "pps", 0.95, False)
    ratio("the same, to a program that only passes", g, "Sluice attached", "bare XDP_PASS", "pps",
          0.95, False)
    tcp_goals(ratio)
    apps.goals(ratio)
    lease.goals(ratio, [(group, metric) for group, metric, _ in lease_calls(1)])
    return lines if len(lines) > 1 else []


def plot(res, prefix, metric, label, title, name):
    groups = [g for g in res.values if g.startswith(prefix)]
    rows = [(g, c, res.median(g, c, metric)) for g in groups for c in res.values[g]]
    unit = 1e6 if metric == "pps" else 1
    rows = [(g, c, v / unit) for g, c, v in rows if v is not None]
    if not rows:
        return
    colour = {"floor": "#999999", "kernel": "#4477aa", "Sluice": "#ee6677"}
    with open(f"{OUT}/{name}.dat", "w") as f:
        for i, (g, c, v) in enumerate(rows):
            who = next((k for k in colour if c.startswith(k)), "kernel")
            f.write(f'{i} {v} {int(colour[who][1:], 16)} "{c} ({g[len(prefix):].strip()})"\n')
    log = "set logscale x\n" if metric.endswith("_us") else ""
    script = f"""
set terminal svg size 900,{120 + 26 * len(rows)} font 'sans,12' background '#ffffff'
set output '{OUT}/{name}.svg'
set title '{title}'
set xlabel '{label}'
{log}set yrange [{len(rows) - 0.5}:-0.5]
set xrange [0:{max(r[2] for r in rows) * 1.15}]
set grid xtics
set key off
set style fill solid 0.9
set lmargin 42
plot '{OUT}/{name}.dat' using ($2/2):1:($2/2):(0.38):3:ytic(4) with boxxyerror lc rgb variable, \\
     '' using 2:1:(sprintf(' %.4g', $2)) with labels left
"""
    if log:  # bars on a logarithmic axis begin at its left end
        script = script.replace("using ($2/2):1:($2/2):(0.38):3", "using 2:1:(0.1):2:($1-0.38):($1+0.38):3")
        script = re.sub(r"set xrange .*", "set xrange [0.1:*]", script)
    done = subprocess.run(["gnuplot"], input=script, text=True, capture_output=True)
    if done.returncode:
        print("gnuplot: " + done.stderr, file=sys.stderr)


def write(res, seconds, rounds):
    os.makedirs(OUT, exist_ok=True)
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True,
                            text=True).stdout.strip()
    lines = [f"Sluice benchmark: commit {commit}, kernel {os.uname().release}, "
             f"{os.cpu_count()} cores, {rounds} rounds of {seconds} s",
             "median of the rounds [smallest .. largest]; veth, one namespace each side", ""]
    lines += table(res) + goals(res)
    if res.errors:
        lines += ["", "errors"] + ["  " + e.strip().splitlines()[0] for e in res.errors]
    text = "\n".join(lines) + "\n"
    with open(OUT + "/bench.txt", "w") as f:
        f.write(text)
    with open(OUT + "/bench.json", "w") as f:
        json.dump({"commit": commit, "kernel": os.uname().release, "cores": os.cpu_count(),
                   "rounds": rounds, "seconds": seconds, "results": res.values,
                   "errors": res.errors}, f, indent=1)
    plot(res, "latency", "p50_us", "microseconds, half a round trip, median (logarithmic)",
         "UDP ping-pong", "latency")
    plot(res, "receive", "pps", "million datagrams a second", "Receiving 64-byte datagrams", "receive")
    plot(res, "send 64", "pps", "million datagrams a second", "Sending 64-byte datagrams", "send")
    print(text)
    print(f"written: {OUT}/bench.txt, bench.json, *.svg")


def main():
    opt = argparse.ArgumentParser()
    opt.add_argument("--short", action="store_true", help="64 bytes only, fewer rounds")
    opt.add_argument("--rounds", type=int)
    opt.add_argument("--seconds", type=float)
    opt.add_argument("--only", help="groups: latency,rate,steer,tcp,talk,apps,bulk (all three in tcp),goodput,conns,many,instructions,lease")
    args = opt.parse_args()
    rounds = args.rounds or (3 if args.short else 7)
    seconds = args.seconds or (1 if args.short else 2)
    only = args.only.split(",") if args.only else \
        ["latency", "rate", "steer", "tcp", "goodput", "conns", "many", "instructions"]
    sizes = (64,) if args.short else (64, 256, 1400)
    cases, once = [], []
    if "latency" in only:
        cases += latency_cases(sizes, seconds)
    if "rate" in only:
        cases += rate_cases(seconds)
    if "steer" in only:
        cases += steering_cases(seconds)
    if "tcp" in only or "talk" in only:
        cases += tcp_cases(seconds)
    if "tcp" in only or "apps" in only:
        cases += apps.cases(seconds)
    if "tcp" in only or "bulk" in only:
        cases += bulk_cases(seconds)
    if "goodput" in only:
        cases += goodput_cases(seconds)
    if "lease" in only:
        cases += lease.cases([(group, call) for group, _, call in lease_calls(seconds)])
    if "conns" in only:
        cases += rate_of_connections(max(1, seconds))
    if "many" in only:
        once += many_cases()
    if "instructions" in only:
        once += instruction_cases()
    res = Results()
    for i in range(rounds):
        print(f"round {i + 1} of {rounds}, {len(cases)} cases", file=sys.stderr)
        # Groups stay together, so that what is compared ran within seconds.
        for case in cases if i % 2 == 0 else reorder(cases):
            res.add(*case)
    if "conns" in only:
        many_connections(res, most_connections(10000 if args.short else 100000), 1 if args.short else 2)
    for case in once:
        res.add(*case)
    write(res, seconds, rounds)


def reorder(cases):
    """The same groups, each from its last case to its first: no one always runs after another."""
    groups = {}
    for case in cases:
        groups.setdefault(case[0], []).append(case)
    return [case for g in groups.values() for case in reversed(g)]


if __name__ == "__main__":
    main()
