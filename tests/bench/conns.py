# SPDX-License-Identifier: BSD-2-Clause
"""Many TCP connections, many UDP sockets: what they cost to open, hold and use."""
import re
import resource
import subprocess
import sys
import time

from hosts import (B4, BIN, ENV, HAVE_SLUICE, PORT, Server, kernel_segs, listening, quiet, run, start, stop, tcp_works,
                   wait_for)


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
