# SPDX-License-Identifier: BSD-2-Clause
"""TCP: ping-pong, messages, bulk, and goodput on a wire that loses."""
import json
import os
import re
import subprocess

from floor import bulk_floor, latency_floors, message_floor
from hosts import B4, DEV_A, DEV_B, PORT, Server, run, tcp_works


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


def tcp_bulk(seconds, preload, reverse):
    # A port of its own: its server closes first, and sockperf's does not bind beside a TIME_WAIT.
    port = PORT + 1
    with Server(["iperf3", "-s", "-1", "-p", port], port, "b" in preload) as server:
        out = run("a", ["iperf3", "-c", B4, "-p", port, "-t", seconds, "-J"] + (["-R"] if reverse else []),
                  "a" in preload)
        end = json.loads(out[out.index("{"):])["end"]
        return {"mbit": end["sum_received"]["bits_per_second"] / 1e6,
                "retransmitted": end["sum_sent"]["retransmits"], **server.through_kernel()}


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


def goodput(loss, mode, seconds, seed, *how):
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "goodput.sh")
    done = subprocess.run(["bash", script, loss, mode, str(seconds), str(seed), *how], text=True,
                          capture_output=True, timeout=120)
    if done.returncode:
        raise RuntimeError(done.stdout + done.stderr)
    mbit, again = done.stdout.split()[-2:]
    if mode == "share":
        return {"share": float(mbit) / (float(mbit) + float(again))}
    return {"mbit": float(mbit), "retransmitted": float(again)}


def goodput_cases(seconds):
    """The wire loses by position, so the n-th round of each case loses the same ones."""
    who = [("kernel", "kernel")]
    if tcp_works():
        who += [("Sluice sends", "one"), ("Sluice", "both")]
    rounds = {}

    def once(key):
        rounds[key] = rounds.get(key, 0) + 1
        loss, mode, *how = key
        return goodput(loss, mode, max(5, 4 * seconds), rounds[key], *how)
    for cc, rate in (("cubic", []), ("bbr", ["50mbit"])):
        for rtt, delay in (("20 ms", "10ms"), ("100 ms", "50ms")):
            for loss in ("0.1%", "1%", "5%"):
                for name, mode in who:
                    yield f"goodput, {cc.upper()}, {rtt}, {loss} loss", name, \
                        lambda k=(loss, mode, cc, delay, *rate): once(k)
        if tcp_works():
            yield f"a bottleneck of 50 Mbit/s shared with the kernel's {cc.upper()}", "Sluice", \
                lambda k=("0%", "share", cc, "10ms", "50mbit"): once(k)


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
    yield from latency_floors(g, 64, seconds)
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
