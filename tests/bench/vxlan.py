# SPDX-License-Identifier: BSD-2-Clause
"""Over VXLAN: wrapped and opened natively on the device below, by XDP or behind packet sockets, on the VXLAN device (packet
sockets, generic XDP), the native ways by the daemon, too, and by the kernel; instructions of user space a datagram sent."""
import contextlib
import subprocess

from floor import floor_latency
from hosts import DEV_A, DEV_B, ENV, HAVE_SLUICE, NS, A4, B4
from instructions import instructions_sending
from lease import Daemons
from udp import sockperf_latency

INNER = {"a": "192.168.77.1", "b": "192.168.77.2"}
VXLAN_BYTES = 50


class Device:
    """The VXLAN device on both hosts. below: preloaded programs may use the device below, too."""
    def __init__(self, below, rx):
        self.settings = {"SLUICE_RX_BACKEND": rx}
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


def over(below, rx, leased, call):
    with Device(below, rx), Daemons(f"device {DEV_A},{DEV_B},vx") if leased else contextlib.nullcontext():
        return call()


# Name, whether it is by the device below, how it receives, whether by the daemon.
WAYS = (
    ("Sluice, generic XDP on the VXLAN device", False, "xdp", False),
    ("Sluice, packet sockets on the VXLAN device", False, "packet", False),
    ("Sluice, native by XDP", True, "xdp", False),
    ("Sluice, native, packet sockets", True, "packet", False),
    ("Sluice, native by XDP, leased", True, "xdp", True),
    ("Sluice, native, packet sockets, leased", True, "packet", True),
)


def cases(seconds):
    ways = WAYS if HAVE_SLUICE else ()
    for how, spin in (("blocking", False), ("spinning", True)):
        g = "VXLAN, UDP 64 B, " + how
        yield g, "floor, AF_XDP", lambda: floor_latency(64 + VXLAN_BYTES, seconds, ())
        yield g, "floor, packet socket", lambda: floor_latency(64 + VXLAN_BYTES, seconds, (), "packetfloor")
        yield g, "kernel", lambda s=spin: over(True, "auto", False, lambda: sockperf_latency(64, seconds, "", s, INNER["b"]))
        for name, below, rx, leased in ways:
            yield g, name, lambda b=below, r=rx, d=leased, s=spin: over(
                b, r, d, lambda: sockperf_latency(64, seconds, "ab", s, INNER["b"]))
    g = "VXLAN, user-space instructions a datagram sent"
    for name, below, rx, leased in ways:
        yield g, name, lambda b=below, r=rx, d=leased: over(b, r, d, lambda: instructions_sending(1, INNER["b"]))
