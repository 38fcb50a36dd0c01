# SPDX-License-Identifier: BSD-2-Clause
"""The same programs with the broker inside and by the daemon: what a lease costs on the packet path."""
import os
import subprocess
import time

import hosts
from hosts import ENV, TMP, command, wait_for
from tcp import tcp_bulk, tcp_latency, tcp_messages
from udp import receive_rate, send_rate, sockperf_latency

NAMES = ("Sluice, embedded", "Sluice, leased")


class Daemons:
    """One on each host; programs that are preloaded meanwhile ask theirs. what: of the policy's line, which devices."""

    def __init__(self, what=""):
        self.what = what

    def __enter__(self):
        self.procs = []
        with open(f"{TMP}/sluiced.conf", "w") as f:
            f.write(f"allow user * {self.what}\n")
        for h in "ab":
            path = f"{TMP}/sluiced.{h}"
            with open(f"{TMP}/sluice.d{h}.log", "a") as log:
                self.procs.append(subprocess.Popen(
                    command(h, [ENV["BUILD"] + "/sluiced", "--socket", path, "--policy", f"{TMP}/sluiced.conf"]),
                    stdout=log, stderr=log))
            wait_for(lambda p=path: os.path.exists(p), "the daemon starts")
            hosts.DAEMON[h] = path

    def __exit__(self, *_):
        hosts.DAEMON.clear()
        time.sleep(0.2)  # the daemon sees the end of its programs first
        for p in self.procs:
            hosts.stop(p)


def leased(call):
    with Daemons():
        return call()


def calls(seconds):
    """Group, metric, call: with programs preloaded on both hosts, or on one."""
    for spin, how in ((True, "spinning"), (False, "blocking")):
        yield f"UDP ping-pong, {how}", "p50_us", lambda s=spin: sockperf_latency(64, seconds, "ab", s)
        yield f"TCP ping-pong, {how}", "p50_us", lambda s=spin: tcp_latency(64, seconds, "ab", s)
    for batch, recv, send in ((1, "recv", "sendto"), (32, "recvmmsg", "sendmmsg")):
        yield f"UDP {recv}", "pps", lambda b=batch: receive_rate("sluice", b, 1, seconds)
        yield f"UDP {send}", "pps", lambda b=batch: send_rate("sluice", b, 1, seconds)
    for nodelay, how in ((True, "TCP_NODELAY"), (False, "Nagle")):
        yield f"TCP messages, {how}", "mps", lambda n=nodelay: tcp_messages(seconds, "ab", n)
    yield "TCP bulk", "mbit", lambda: tcp_bulk(max(1, round(seconds)), "ab", False)


def cases(seconds):
    for group, _, call in calls(seconds):
        yield "lease: " + group, NAMES[0], call
        yield "lease: " + group, NAMES[1], lambda c=call: leased(c)


def goals(ratio):
    """Offloaded by the daemon, a program is within 3 % of its figures with the embedded broker."""
    for group, metric, _ in calls(1):
        at_most = metric.endswith("_us")
        ratio(f"{group}: leased {'at most 1.03' if at_most else 'at least 0.97'} x embedded", "lease: " + group,
              NAMES[1], NAMES[0], metric, 1.03 if at_most else 0.97, at_most)
