# SPDX-License-Identifier: BSD-2-Clause
"""What the test programs of tests/net share: sockets, the reflector's language, control messages.

A program prints facts, one a line; the shell test compares them with those of the same program on
the kernel's sockets. So nothing that may differ between two good runs (times, ephemeral ports) is
printed. A wait longer than TIMEOUT seconds is an error and ends the program."""
import errno
import json
import os
import select
import socket
import struct
import sys

TIMEOUT = 10.0

IP_TOS, IP_TTL, IP_PKTINFO, IP_RECVTTL, IP_RECVTOS = 1, 2, 8, 12, 13
IP_MTU_DISCOVER, IP_RECVERR, IP_MTU, IP_FREEBIND = 10, 11, 14, 15
IPV6_RECVPKTINFO, IPV6_PKTINFO, IPV6_RECVHOPLIMIT, IPV6_HOPLIMIT = 49, 50, 51, 52
IPV6_RECVTCLASS, IPV6_TCLASS, IPV6_MTU_DISCOVER, IPV6_MTU, IPV6_RECVERR = 66, 67, 23, 24, 25
IPV6_UNICAST_HOPS = 16
SO_TIMESTAMP, SO_TIMESTAMPNS, SO_RXQ_OVFL, SO_BUSY_POLL = 29, 35, 40, 46
UDP_SEGMENT, UDP_GRO = 103, 104
SOL_UDP = 17


def say(*what):
    print(*what, flush=True)


def is6(addr):
    return ":" in addr


def udp(addr=None, port=0, timeout=TIMEOUT):
    """A UDP socket of the address's family, bound to it unless port is None."""
    s = socket.socket(socket.AF_INET6 if addr and is6(addr) else socket.AF_INET, socket.SOCK_DGRAM)
    if addr is not None and port is not None:
        s.bind((addr, port))
    s.settimeout(timeout)
    return s


def name_of(err):
    return errno.errorcode.get(err, str(err))


def attempt(call, *args):
    """The result of a call, or the name of its error."""
    try:
        return call(*args)
    except socket.timeout:
        return "timeout"
    except OSError as e:
        return name_of(e.errno)


def nothing_comes(s, seconds=0.3):
    old = s.gettimeout()
    s.settimeout(seconds)
    got = attempt(s.recvfrom, 65536)
    s.settimeout(old)
    return got == "timeout" or got


def ask_meta(s):
    """Asks for TTL, TOS and destination as control messages of each datagram."""
    if s.family == socket.AF_INET:
        for name in (IP_PKTINFO, IP_RECVTTL, IP_RECVTOS):
            s.setsockopt(socket.IPPROTO_IP, name, 1)
    else:
        for name in (IPV6_RECVPKTINFO, IPV6_RECVHOPLIMIT, IPV6_RECVTCLASS):
            s.setsockopt(socket.IPPROTO_IPV6, name, 1)


def meta_of(cmsgs):
    """Control messages as a dictionary of plain values."""
    out = {}
    for level, kind, data in cmsgs:
        if level == socket.IPPROTO_IP and kind == IP_TTL:
            out["ttl"] = struct.unpack("i", data[:4])[0]
        elif level == socket.IPPROTO_IP and kind == IP_TOS:
            out["tos"] = data[0]
        elif level == socket.IPPROTO_IP and kind == IP_PKTINFO:
            index, spec, dst = struct.unpack("i4s4s", data[:12])
            out["dst"] = socket.inet_ntoa(dst)
            out["spec"] = socket.inet_ntoa(spec)
            out["dev"] = index
        elif level == socket.IPPROTO_IPV6 and kind == IPV6_HOPLIMIT:
            out["ttl"] = struct.unpack("i", data[:4])[0]
        elif level == socket.IPPROTO_IPV6 and kind == IPV6_TCLASS:
            out["tos"] = struct.unpack("i", data[:4])[0]
        elif level == socket.IPPROTO_IPV6 and kind == IPV6_PKTINFO:
            dst, index = struct.unpack("16si", data[:20])
            out["dst"] = socket.inet_ntop(socket.AF_INET6, dst)
            out["dev"] = index
        elif level == socket.SOL_SOCKET and kind == SO_TIMESTAMP:
            out["stamp"] = struct.unpack("qq", data[:16])
        elif level == socket.SOL_SOCKET and kind == SO_TIMESTAMPNS:
            out["stampns"] = struct.unpack("qq", data[:16])
        elif level == socket.SOL_SOCKET and kind == SO_RXQ_OVFL:
            out["ovfl"] = struct.unpack("I", data[:4])[0]
        elif level == SOL_UDP and kind == UDP_GRO:
            out["gro"] = struct.unpack("i", data[:4])[0]
        else:
            out[f"cmsg {level}/{kind}"] = data.hex()
    return out


def recv_meta(s, size=65536):
    """One datagram: bytes, its control messages, flags, sender."""
    data, cmsgs, flags, sender = s.recvmsg(size, 1024)
    return data, meta_of(cmsgs), flags, sender


# The reflector (reflector.py) answers each datagram that holds a JSON object, as it says:
#   size N: the answer is so many bytes, else a JSON description of what was received
#   ttl, tos: of the answer   count N: so many answers   to [address, port]: there instead
#   pad: not looked at, makes the question long          from_port N: by another port of its own
def question(pad=0, **what):
    q = json.dumps(what)
    if pad:
        q = json.dumps(dict(what, pad="x" * max(0, pad - len(json.dumps(dict(what, pad=""))))))
    return q.encode()


def answer(s):
    return json.loads(s.recv(65536))


def ask(s, to, pad=0, **what):
    """Asks the reflector and returns its description of the question."""
    q = question(pad, **what)
    if to:
        s.sendto(q, to)
    else:
        s.send(q)
    return answer(s)


def answered(conns):
    """How many of the connections get the answer "here"; the others' errors go to stderr."""
    n = 0
    for c in conns:
        try:
            n += c.recv(100) == b"here"
        except OSError as e:
            print(c.getsockname()[1], e, file=sys.stderr)
    return n


def hello(to, greeting=b"hello", timeout=15):
    """A connection that has said so."""
    conn = socket.create_connection(to, timeout=timeout)
    conn.sendall(greeting)
    return conn


def text_of(conn):
    """What comes next, "EOF", or the error."""
    try:
        return conn.recv(100).decode() or "EOF"
    except OSError as e:
        return str(e)
