# SPDX-License-Identifier: BSD-2-Clause
"""The checksum of IP, UDP and TCP (RFC 1071), for scripts that make frames."""
import struct


def csum_of(data):
    """The sum in ones' complement, not yet inverted: sums of parts with an even length may be added and folded again."""
    if len(data) & 1:
        data += b"\0"
    s = sum(struct.unpack("!%dH" % (len(data) // 2), data))
    while s >> 16:
        s = (s & 0xFFFF) + (s >> 16)
    return s


def checksum(data):
    return ~csum_of(data) & 0xFFFF
