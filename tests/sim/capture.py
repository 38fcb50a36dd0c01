#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Reads the simulated NIC's capture file: how many frames, the rate of their departure times, and how
many departed sooner after the one before than its length allows at that rate."""
import struct
import sys

with open(sys.argv[1], "rb") as f:
    data = f.read()
magic, major, minor, _, _, _, link = struct.unpack_from("<IHHIIII", data)
assert (magic, major, minor, link) == (0xA1B23C4D, 2, 4, 1), "no pcap file of nanoseconds"
frames = []
at = 24
while at < len(data):
    s, ns, captured, length = struct.unpack_from("<IIII", data, at)
    assert captured == length and at + 16 + captured <= len(data), "cut off"
    frames.append((s * 10**9 + ns, length))
    at += 16 + captured
print("frames", len(frames))
if len(frames) > 1 and frames[-1][0] > frames[0][0]:
    span = frames[-1][0] - frames[0][0]
    rate = sum(n for _, n in frames[:-1]) * 8e6 / span
    print(f"rate_kbps {rate:.1f}")
    # (The conversion to real time is refreshed all along: it may step by a microsecond.)
    print("early", sum((b[0] - a[0] + 2000) < a[1] * 8e6 / rate * 0.98 for a, b in zip(frames, frames[1:])))
