# SPDX-License-Identifier: BSD-2-Clause
"""What programs pay that are not ours, on a device that a program of ours uses: none of them is preloaded."""
from contextlib import contextmanager

from hosts import B4, BIN, DEV_B, HAVE_SLUICE, has_private, has_xdp, start, stop, wait_for, wait_line
from tcp import tcp_bulk, tcp_latency
from udp import both_rate, sockperf_latency

BASE = "without Sluice"
OURS = "Sluice attached"
BY_XDP = "Sluice attached by XDP"
BARE = "bare XDP_PASS"


@contextmanager
def beside(kind):
    """Holds on b's device what kind says."""
    holder = None
    if kind == BARE:
        holder = start("b", [BIN + "xdpfloor", "pong", DEV_B])
        wait_line(holder, "ready")
    elif kind != BASE:
        way = "xdp" if kind == BY_XDP else "auto"
        holder = start("b", ["env", f"SLUICE_RX_BACKEND={way}", BIN + "many", B4, 6000, 1], True)
        wait_line(holder, "opened")
        wait_for(lambda: has_xdp("b") or has_private("b"), "Sluice attaches")
    try:
        yield
    finally:
        if holder:
            stop(holder)


def measured(kind, call):
    with beside(kind):
        return call()


def groups(seconds):
    whole = max(1, round(seconds))
    yield "bystander: TCP bulk to b", "mbit", lambda: tcp_bulk(whole, "", False)
    yield "bystander: TCP bulk from b", "mbit", lambda: tcp_bulk(whole, "", True)
    yield "bystander: UDP rate", "pps", lambda: both_rate("kernel", 1, seconds)
    yield "bystander: UDP ping-pong", "p50_us", lambda: sockperf_latency(64, seconds, "", True)
    yield "bystander: TCP ping-pong", "p50_us", lambda: tcp_latency(64, whole, "", True)


def cases(seconds):
    kinds = [BASE, BARE] + ([OURS, BY_XDP] if HAVE_SLUICE else [])
    for group, _, call in groups(seconds):
        for kind in kinds:
            yield group, kind, lambda k=kind, c=call: measured(k, c)


def goals(ratio):
    for group, metric, _ in groups(1):
        time = metric.endswith("_us")
        ratio(f"{group}: at least 0.97 of what it is without Sluice", group, OURS, BASE, metric,
              1 / 0.97 if time else 0.97, time)
        ratio(f"{group}, by XDP: at least 0.95 of a program that only passes", group, BY_XDP, BARE, metric,
              1 / 0.95 if time else 0.95, time)
