# SPDX-License-Identifier: BSD-2-Clause
"""What the steering program costs packets that nobody has claimed, beside a bare XDP_PASS and, in STEER_BASE, the object
file of an older build."""
import os

from hosts import BIN, ENV, run


def put(res):
    build = ENV["BUILD"]
    objects = {"bare XDP_PASS": build + "/tests/net/pass.bpf.o"}
    if os.environ.get("STEER_BASE"):
        objects["older build"] = os.environ["STEER_BASE"]
    objects["steering program"] = build + "/steer.bpf.o"
    for line in run("a", [BIN + "steercost"] + list(objects.values()), False, 300).splitlines():
        kind, number, ns = line.rsplit(" ", 2)
        res.put(f"unclaimed {kind}, ns a packet", list(objects)[int(number)], {"ns": float(ns)})
