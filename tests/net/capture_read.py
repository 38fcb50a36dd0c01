# SPDX-License-Identifier: BSD-2-Clause
"""capture_read.py FILE: reads pcapng, checks its form and the packets' checksums, and prints counts as JSON."""
import json
import struct
import sys


def options(b, at, end):
    found = {}
    while at + 4 <= end:
        code, n = struct.unpack_from("<HH", b, at)
        if code == 0:
            break
        found[code] = b[at + 4:at + 4 + n]
        at += 4 + (n + 3) // 4 * 4
    return found


def fold(data):
    data += b"\0" * (len(data) % 2)
    s = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while s >> 16:
        s = (s & 0xffff) + (s >> 16)
    return s


def checksum_ok(p):
    at = 12
    while p[at:at + 2] in (b"\x81\x00", b"\x88\xa8"):
        at += 4
    v6 = p[at:at + 2] == b"\x86\xdd"
    ip = at + 2
    if v6:
        l4, proto, addrs = ip + 40, p[ip + 6], p[ip + 8:ip + 40]
        end = l4 + struct.unpack_from("!H", p, ip + 4)[0]
    else:
        l4, proto, addrs = ip + (p[ip] & 15) * 4, p[ip + 9], p[ip + 12:ip + 20]
        end = ip + struct.unpack_from("!H", p, ip + 2)[0]
        if fold(p[ip:l4]) != 0xffff:
            return False
    return end <= len(p) and fold(addrs + struct.pack("!HH", proto, end - l4) + p[l4:end]) == 0xffff


def note(p, flows):
    """Adds the part of a TCP stream (IPv4) that the segment has."""
    if len(p) < 54 or p[12:14] != b"\x08\x00" or p[23] != 6:
        return
    l4 = 14 + (p[14] & 15) * 4
    seq, = struct.unpack_from("!I", p, l4 + 4)
    size = 14 + struct.unpack_from("!H", p, 16)[0] - l4 - (p[l4 + 12] >> 4) * 4 + bool(p[l4 + 13] & 2) + (p[l4 + 13] & 1)
    first, parts = flows.setdefault(p[26:34] + p[l4:l4 + 4], (seq, []))
    at = (seq - first + (1 << 31)) % (1 << 32) - (1 << 31)
    parts.append((at, at + size))


def missing(parts):
    """Bytes between the first and the last that no segment had."""
    parts = sorted(parts)
    end, holes = parts[0][1], 0
    for at, to in parts:
        holes += max(at - end, 0)
        end = max(end, to)
    return holes


with open(sys.argv[1], "rb") as f:
    b = f.read()
at = n = rx = tx = bad = named = drops = isb_drop = ifs = isb = max_cap = max_wire = 0
ports = set()
payload = {1: 0, 2: 0}
flows = {}
while at < len(b):
    kind, size = struct.unpack_from("<II", b, at)
    assert size % 4 == 0 and size >= 12 and struct.unpack_from("<I", b, at + size - 4)[0] == size, (at, size)
    if kind == 1:
        ifs += 1
        assert options(b, at + 16, at + size - 4)[9] == b"\x09"
    if kind == 6:
        iface, _, _, cap, wire = struct.unpack_from("<IIIII", b, at + 8)
        assert iface < ifs and cap <= wire
        p = b[at + 28:at + 28 + cap]
        o = options(b, at + 28 + (cap + 3) // 4 * 4, at + size - 4)
        way = struct.unpack("<I", o[2])[0] & 3
        n += 1
        rx += way == 1
        tx += way == 2
        payload[way] += wire
        note(p, flows)
        max_cap, max_wire = max(max_cap, cap), max(max_wire, wire)
        if cap >= 38 and p[12:15] == b"\x08\x00\x45":
            ports.update(struct.unpack_from("!HH", p, 34))
        named += b"] fd " in o.get(1, b"")
        drops += struct.unpack("<Q", o[4])[0] if 4 in o else 0
        bad += cap == wire and not checksum_ok(p)
    if kind == 5:
        isb += 1
        isb_drop += struct.unpack("<Q", options(b, at + 20, at + size - 4)[5])[0]
    at += size
print(json.dumps(dict(n=n, rx=rx, tx=tx, bad=bad, named=named, drops=drops, isb_drop=isb_drop, ifs=ifs, isb=isb,
                      max_cap=max_cap, max_wire=max_wire, ports=sorted(ports),
                      rx_bytes=payload[1], tx_bytes=payload[2], holes=sum(missing(parts) for _, parts in flows.values()))))
