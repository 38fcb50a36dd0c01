# SPDX-License-Identifier: BSD-2-Clause
"""UDP: ping-pong, and rates of receiving and sending."""
import re

from floor import latency_floors, rate_of
from hosts import (A4, B4, BIN, DEV_A, DEV_B, HAVE_SLUICE, MAC_B, PORT, bound, kernel_in, run, start, stop, wait_for,
                   wait_line)


def sockperf_latency(size, seconds, preload, spin, to=B4):
    """preload: hosts whose program is preloaded ("", "b", "ab"); to: an address of host b."""
    flags = ["--nonblocked"] if spin else []
    server = start("b", ["sockperf", "sr", "-i", to, "-p", PORT] + flags, "b" in preload)
    try:
        wait_for(lambda: bound("b", PORT), "sockperf's server binds")
        before = kernel_in("b")
        out = run("a", ["sockperf", "pp", "-i", to, "-p", PORT, "-m", size, "-t", seconds] + flags,
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
        yield from latency_floors(g, size, seconds)
        yield g, "kernel, spinning", lambda s=size: sockperf_latency(s, seconds, "", True)
        if HAVE_SLUICE:
            yield g, "Sluice, spinning", lambda s=size: sockperf_latency(s, seconds, "ab", True)
        yield g, "kernel, blocking", lambda s=size: sockperf_latency(s, seconds, "", False)
        if HAVE_SLUICE:
            yield g, "Sluice, blocking", lambda s=size: sockperf_latency(s, seconds, "ab", False)
            yield g, "Sluice one side, spinning", \
                lambda s=size: sockperf_latency(s, seconds, "b", True)


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
