# SPDX-License-Identifier: BSD-2-Clause
"""Both ends on one core, where who waits must sleep: what a round trip costs of the core, all in all.

Where a machine has no core to spare, that is what counts: nothing is gained by spinning then."""
import hosts
from floor import floor_latency
from tcp import tcp_latency
from udp import sockperf_latency


class OneCore:
    def __enter__(self):
        self.was = dict(hosts.CORE)
        hosts.CORE["b"] = hosts.CORE["a"]

    def __exit__(self, *_):
        hosts.CORE.update(self.was)


def on_one_core(call):
    with OneCore():
        return call()


def cases(seconds):
    who = [("kernel", "")]
    if hosts.HAVE_SLUICE:
        who += [("Sluice one side", "b"), ("Sluice", "ab")]
    for proto, latency in (("UDP", sockperf_latency), ("TCP", tcp_latency)):
        g = f"one core, {proto} 64 B"
        yield g, "floor", lambda: on_one_core(lambda: floor_latency(64, seconds, ("sleep",)))
        for name, preload in who:
            yield g, name, lambda p=preload, l=latency: on_one_core(lambda: l(64, seconds, p, False))
