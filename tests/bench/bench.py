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
import subprocess
import sys

import apps
import bystanders
import crowd
import vxlan
import hosts
import lease
import prefetch
import steering
from conns import many_cases, many_connections, most_connections, rate_of_connections
from goals import goals
from hosts import OUT
from instructions import instruction_cases
from results import Results, plot, table
from tcp import bulk_cases, goodput_cases, tcp_cases
from udp import latency_cases, rate_cases


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
    opt.add_argument("--only", help="groups: latency,rate,bystanders,tcp,talk,apps,bulk (all three in tcp),goodput,conns,many,instructions,lease,crowd,vxlan,steering,prefetch")
    opt.add_argument("--unpinned", action="store_true", help="the scheduler chooses the cores")
    args = opt.parse_args()
    if args.unpinned:
        hosts.CORE.clear()
    rounds = args.rounds or (3 if args.short else 7)
    seconds = args.seconds or (1 if args.short else 2)
    only = args.only.split(",") if args.only else \
        ["latency", "rate", "bystanders", "tcp", "goodput", "conns", "many", "instructions"]
    sizes = (64,) if args.short else (64, 256, 1400)
    cases, once = [], []
    if "latency" in only:
        cases += latency_cases(sizes, seconds)
    if "rate" in only:
        cases += rate_cases(seconds)
    if "bystanders" in only:
        cases += bystanders.cases(seconds)
    if "tcp" in only or "talk" in only:
        cases += tcp_cases(seconds)
    if "tcp" in only or "apps" in only:
        cases += apps.cases(seconds)
    if "tcp" in only or "bulk" in only:
        cases += bulk_cases(seconds)
    if "goodput" in only:
        cases += goodput_cases(seconds)
    if "lease" in only:
        cases += lease.cases(seconds)
    if "crowd" in only:
        cases += crowd.cases(seconds)
    if "prefetch" in only:
        cases += prefetch.cases(seconds)
    if "vxlan" in only:
        cases += vxlan.cases(seconds)
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
    if "steering" in only:
        steering.put(res)
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
