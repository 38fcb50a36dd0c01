#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Reads the simulated NIC's capture file: how many frames, the rate of their departure times, and how
many departed sooner after the one before than its length allows at that rate, or at the one that
`rate=KBPS` says: `capture.py FILE [rate=KBPS] [contents]`. With `contents` what is in them, too: wrong checksums and lengths, and of TCP's segments with data how many there are, of
which with PSH, with an IP ID that does not follow the one before, and with bytes sent before; and which
VLAN tags there are, as VLANS has them."""
import struct
import sys


def read(path):
    """(departure in ns, bytes of frame) each."""
    with open(path, "rb") as f:
        data = f.read()
    magic, major, minor, _, _, _, link = struct.unpack_from("<IHHIIII", data)
    assert (magic, major, minor, link) == (0xA1B23C4D, 2, 4, 1), "no pcap file of nanoseconds"
    at = 24
    while at < len(data):
        s, ns, captured, length = struct.unpack_from("<IIII", data, at)
        assert captured == length and at + 16 + captured <= len(data), "cut off"
        yield s * 10**9 + ns, data[at + 16:at + 16 + captured]
        at += 16 + captured


def total(data):
    """The Internet checksum of what has its checksum in it: 0xffff."""
    if len(data) % 2:
        data += b"\0"
    n = sum(struct.unpack(f">{len(data) // 2}H", data))
    while n >> 16:
        n = (n & 0xFFFF) + (n >> 16)
    return n


def layers(frame):
    """Protocol, addresses, IP ID, bytes from layer 4 on; None: not of ours. ValueError: it is wrong."""
    at = 12
    while frame[at:at + 2] in (b"\x81\x00", b"\x88\xa8"):
        at += 4
    kind, ip = frame[at:at + 2], frame[at + 2:]
    if kind == b"\x08\x00":
        length, ident, proto = ip[2] << 8 | ip[3], ip[4] << 8 | ip[5], ip[9]
        if total(ip[:20]) != 0xFFFF:
            raise ValueError("IP checksum")
        addresses, l4 = ip[12:20], ip[20:length]
    elif kind == b"\x86\xdd":
        length, ident, proto = 40 + (ip[4] << 8 | ip[5]), None, ip[6]
        addresses, l4 = ip[8:40], ip[40:length]
    else:
        return None
    if proto not in (6, 17):
        return None
    if length != len(ip) and len(frame) > 60:
        raise ValueError("length")
    no_sum = proto == 17 and l4[6:8] == b"\0\0"
    if not no_sum and total(addresses + struct.pack(">HH", proto, len(l4)) + l4) != 0xFFFF:
        raise ValueError("checksum")
    return proto, addresses, ident, l4


def tags(frame):
    at, found = 12, []
    while frame[at:at + 2] in (b"\x81\x00", b"\x88\xa8"):
        vid = int.from_bytes(frame[at + 2:at + 4], "big") & 0xFFF
        found.append(f"{vid}{'ad' if frame[at] == 0x88 else ''}")
        at += 4
    return " ".join(found) or "none"


def check(frames):
    print("tags", ", ".join(sorted({tags(frame) for _, frame in frames})))
    wrong = data = push = jumps = again = unsummed = 0
    flows = {}
    for _, frame in frames:
        try:
            found = layers(frame)
        except ValueError:
            wrong += 1
            continue
        if not found:
            continue
        proto, addresses, ident, l4 = found
        if proto == 17:
            unsummed += l4[6:8] == b"\0\0"
            continue
        payload = len(l4) - (l4[12] >> 4) * 4
        seq = int.from_bytes(l4[4:8], "big")
        key = addresses + l4[:4]
        last_ident, end = flows.get(key, (None, seq))
        if ident is not None:
            jumps += last_ident is not None and ident != (last_ident + 1) % 65536
        if payload:
            data += 1
            push += l4[13] >> 3 & 1
            again += (seq - end) % 2**32 >= 2**31
            if (seq + payload - end) % 2**32 < 2**31:
                end = seq + payload & 0xFFFFFFFF
        flows[key] = (ident, end)
    print(f"wrong {wrong}\ntcp_data {data}\ntcp_psh {push}\nip_id_jumps {jumps}\ntcp_again {again}\n"
          f"udp_without_sum {unsummed}")


def main():
    frames = list(read(sys.argv[1]))
    print("frames", len(frames))
    if "contents" in sys.argv[2:]:
        check(frames)
    times = [(t, len(f)) for t, f in frames]
    if len(times) > 1 and times[-1][0] > times[0][0]:
        span = times[-1][0] - times[0][0]
        rate = sum(n for _, n in times[:-1]) * 8e6 / span
        print(f"rate_kbps {rate:.1f}")
        for word in sys.argv[2:]:
            if word.startswith("rate="):
                rate = float(word[5:])
        # (The conversion to real time is refreshed all along: it may step by a microsecond.)
        print("early", sum((b[0] - a[0] + 2000) < a[1] * 8e6 / rate * 0.98
                           for a, b in zip(times, times[1:])))


if __name__ == "__main__":
    main()
