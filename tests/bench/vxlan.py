# SPDX-License-Identifier: BSD-2-Clause
"""Over VXLAN: wrapped and opened natively on the device below, by the program on the VXLAN device (generic XDP), and by the
kernel; instructions of user space a datagram sent."""
import subprocess

from floor import floor_latency
from hosts import DEV_A, DEV_B, ENV, HAVE_SLUICE, NS, A4, B4
from instructions import instructions_sending
from udp import sockperf_latency

INNER = {"a": "192.168.77.1", "b": "192.168.77.2"}
VXLAN_BYTES = 50


class Device:
    """The VXLAN device on both hosts. below: preloaded programs may use the device below, too."""
    def __init__(self, below):
        self.settings = {"SLUICE_RX_BACKEND": "xdp"}
        if not below:
            self.settings["SLUICE_DEVICES"] = "vx"

    def __enter__(self):
        for host, local, remote, low in (("a", A4, B4, DEV_A), ("b", B4, A4, DEV_B)):
            ip = ["ip", "-n", NS + host]
            subprocess.run(ip + ["link", "add", "vx", "type", "vxlan", "id", "42", "dstport", "4789", "local", local,
                                 "remote", remote, "dev", low], check=True)
            subprocess.run(ip + ["addr", "add", INNER[host] + "/24", "dev", "vx"], check=True)
            subprocess.run(ip + ["link", "set", "vx", "up"], check=True)
        ENV.update(self.settings)

    def __exit__(self, *_):
        for name in self.settings:
            del ENV[name]
        for host in "ab":
            subprocess.run(["ip", "-n", NS + host, "link", "del", "vx"], check=True)


def over(below, call):
    with Device(below):
        return call()


def cases(seconds):
    ways = [("kernel", "", True)]
    if HAVE_SLUICE:
        ways += [("Sluice, generic on the VXLAN device", "ab", False), ("Sluice, native", "ab", True)]
    for how, spin in (("blocking", False), ("spinning", True)):
        g = "VXLAN, UDP 64 B, " + how
        yield g, "floor, AF_XDP", lambda: floor_latency(64 + VXLAN_BYTES, seconds, ())
        for name, preload, below in ways:
            yield g, name, lambda p=preload, b=below, s=spin: over(
                b, lambda: sockperf_latency(64, seconds, p, s, INNER["b"]))
    g = "VXLAN, user-space instructions a datagram sent"
    for name, _, below in ways[1:]:
        yield g, name, lambda b=below: over(b, lambda: instructions_sending(1, INNER["b"]))
