# SPDX-License-Identifier: BSD-2-Clause
"""What prefetching brings: the rate of a receiver that is always behind, by SLUICE_RX_PREFETCH_BYTES, and half a round
trip of a spinning one, by SLUICE_RX_PREFETCH_BYTES_BEFORE_POLL. By AF_XDP: a packet socket's ring is read in order."""
import os

from floor import rate_of
from hosts import A4, B4, BIN, DEV_A, HAVE_SLUICE, MAC_B, PORT, bound, run, start, wait_for, wait_line
from udp import sockperf_latency

RX = "SLUICE_RX_PREFETCH_BYTES"
BEFORE = RX + "_BEFORE_POLL"


def set_to(name, value, call, *args):
    given = {name: str(value), "SLUICE_RX_BACKEND": "xdp"}
    os.environ.update(given)
    try:
        return call(*args)
    finally:
        for k in given:
            del os.environ[k]


def receive_rate(size, batch, seconds):
    sink = start("b", [BIN + "udpsink", B4, PORT, f"seconds={seconds}", f"batch={batch}"], True)
    wait_for(lambda: bound("b", PORT), "udpsink binds")
    wait_line(sink, "ready")
    sent = rate_of(run("a", [BIN + "xdpfloor", "tx", DEV_A, size, seconds + 0.2, 32, MAC_B, A4, B4, PORT, 1]))
    return {"pps": rate_of(sink.communicate(timeout=20)[0], 1), "offered_pps": sent}


def cases(seconds):
    if not HAVE_SLUICE:
        return
    for size in (64, 1400):
        for batch, call in ((1, "recv"), (32, "recvmmsg")):
            for n in (64, 256, 1500):
                yield f"receive {size} B, {call}", f"{n} prefetched", \
                    lambda s=size, b=batch, n=n: set_to(RX, n, receive_rate, s, b, seconds)
    for size in (64, 1400):
        for n in (0, 64, 256):
            yield f"latency {size} B", f"{n} prefetched before", \
                lambda s=size, n=n: set_to(BEFORE, n, sockperf_latency, s, seconds, "ab", True)
