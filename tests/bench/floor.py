# SPDX-License-Identifier: BSD-2-Clause
"""What bare AF_XDP and bare packet sockets do on this wire: the floors, and the programs' way of telling a rate."""
import re

from hosts import BIN, DEV_A, DEV_B, run, start, stop, wait_line


def rate_of(out, column=0):
    return float([l for l in out.splitlines() if re.match(r"^[\d. ]+$", l)][-1].split()[column])


def floor_latency(size, seconds, how=(), program="xdpfloor"):
    """how: ("sleep",), or by spinning. program: xdpfloor, or packetfloor (which spins)."""
    pong = start("b", [BIN + program, "pong", DEV_B] + ([0, *how] if how else []))
    wait_line(pong, "ready")
    out = run("a", [BIN + program, "ping", DEV_A, size, seconds, *how])
    stop(pong)
    v = [float(x) for x in out.splitlines()[-1].split()]
    return {"p50_us": v[1] / 1e3, "p99_us": v[3] / 1e3, "n": v[0]}


def latency_floors(group, size, seconds):
    """The lower of the two is the wire's."""
    for name, program in (("AF_XDP", "xdpfloor"), ("packet socket", "packetfloor")):
        yield group, f"floor, {name}", lambda p=program: floor_latency(size, seconds, (), p)


def message_floor(seconds, batch):
    """Frames as long as a segment with one message of 100 bytes: the most of those that could be sent."""
    sink = start("b", [BIN + "xdpfloor", "rx", DEV_B, seconds + 0.5])
    wait_line(sink, "ready")
    run("a", [BIN + "xdpfloor", "tx", DEV_A, 124, seconds, batch])
    return {"mps": rate_of(sink.communicate(timeout=20)[0])}


def bulk_floor(seconds, reverse, answer=False):
    """What bare AF_XDP carries of full frames, as payload of segments with time stamps. answer: with
    a short frame back for every second, which is what acknowledging costs whoever does it."""
    src, dst = ("b", "a") if reverse else ("a", "b")
    dev = {"a": DEV_A, "b": DEV_B}
    sink = start(dst, [BIN + "xdpfloor", "rx", dev[dst], seconds + 0.5] + (["answer"] if answer else []))
    wait_line(sink, "ready")
    run(src, [BIN + "xdpfloor", "tx", dev[src], 1472, seconds, 32])
    pps = rate_of(sink.communicate(timeout=20)[0])
    return {"mbit": pps * 1448 * 8 / 1e6, "frames": pps}
