# SPDX-License-Identifier: BSD-2-Clause
"""The project's goals against what a run showed."""
import apps
import bystanders
import lease


def goals(res):
    """A line for each goal whose cases this run has, met or not."""
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
        ratio(f"ping-pong 64 B, {kind}: p50 at most 1.2 x floor", g, f"Sluice, {kind}", "floor",
              "p50_us", 1.2, True)
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
    tcp_goals(ratio)
    for cc in ("CUBIC", "BBR"):
        share = res.median(f"a bottleneck of 50 Mbit/s shared with the kernel's {cc}", "Sluice", "share")
        if share is not None:
            goal(f"between 0.4 and 0.6 of a bottleneck shared with the kernel's {cc}", f"{share:.2f}",
                 0.4 <= share <= 0.6)
    apps.goals(ratio)
    lease.goals(ratio)
    bystanders.goals(ratio)
    return lines if len(lines) > 1 else []


def tcp_goals(ratio):
    """The goals of TCP; a goal is shown only if its cases were run."""
    g = "TCP latency 64 B"
    ratio("TCP ping-pong 64 B, both sides: p50 at most 1.5 x floor", g, "Sluice, spinning", "floor",
          "p50_us", 1.5, True)
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
    for cc in ("CUBIC", "BBR"):
        for case in (f"{rtt}, {loss} loss" for rtt in ("20 ms", "100 ms") for loss in ("0.1%", "1%", "5%")):
            ratio(f"goodput, {case}: at least that of the kernel's {cc}", f"goodput, {cc}, {case}", "Sluice",
                  "kernel", "mbit", 1, False)
    for case in ("Sluice accepts", "Sluice connects", "Sluice"):
        ratio(f"TCP connections a second, {case}: not below the kernel",
              "TCP connections a second (connect, close)", case, "kernel", "cps", 1, False)
