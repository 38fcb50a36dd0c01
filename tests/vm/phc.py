# SPDX-License-Identifier: BSD-2-Clause
"""A NIC's own clock, and what it says of packets that were sent.

  phc.py echo ADDRESS PORT               what comes goes back: datagrams, and the bytes of connections
  phc.py ask OWN PEER PORT DEVICE        facts, one a line, no times: the kernel's run says the same
"""
import ctypes
import fcntl
import os
import selectors
import socket
import struct
import sys
import time

SO_TIMESTAMPING, SIOCSHWTSTAMP, SIOCETHTOOL, ETHTOOL_GET_TS_INFO = 37, 0x89b0, 0x8946, 0x41
TX_HW, RAW, ID, TSONLY = 1, 64, 128, 2048
DATAGRAMS, STEP = 20, 1000


def echo(address, port):
    udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    tcp = socket.socket()
    tcp.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    udp.bind((address, port))
    tcp.bind((address, port))
    tcp.listen()
    sel = selectors.DefaultSelector()
    for s in (udp, tcp):
        sel.register(s, selectors.EVENT_READ)
    while True:
        for key, _ in sel.select():
            s = key.fileobj
            if s is udp:
                udp.sendto(*udp.recvfrom(2000))
            elif s is tcp:
                sel.register(tcp.accept()[0], selectors.EVENT_READ)
            else:
                try:
                    data = s.recv(2000)
                    s.sendall(data)
                except ConnectionError:
                    data = b""
                if not data:
                    sel.unregister(s)
                    s.close()


def about(s, what, device, data):
    """An ioctl(2) about a device, with data behind the pointer in its struct ifreq; the data as it is then."""
    buf = ctypes.create_string_buffer(data, len(data))
    fcntl.ioctl(s, what, struct.pack("16sP16x", device.encode(), ctypes.addressof(buf)))
    return buf.raw


class Phc:
    """The device's clock, in nanoseconds (clock_getres(2): dynamic clocks)."""

    def __init__(self, device):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
            info = about(s, SIOCETHTOOL, device, struct.pack("I40x", ETHTOOL_GET_TS_INFO))
        self.fd = os.open(f"/dev/ptp{struct.unpack('i', info[8:12])[0]}", os.O_RDWR)
        self.clock = (~self.fd << 3) | 3

    def now(self):
        return time.clock_gettime_ns(self.clock)

    def ahead(self):
        """Of the system's clock, and by how much that may be wrong."""
        best = None
        for _ in range(5):
            a, p, b = time.time_ns(), self.now(), time.time_ns()
            if best is None or b - a < best[1]:
                best = (p - (a + b) // 2, b - a)
        return best


def stamp(s):
    """Of the packet that was sent last: number of the message, hardware's time."""
    end = time.monotonic() + 10
    while time.monotonic() < end:
        try:
            _, cmsgs, _, _ = s.recvmsg(2000, 500, socket.MSG_ERRQUEUE | socket.MSG_DONTWAIT)
        except BlockingIOError:
            time.sleep(0.001)
            continue
        hw = ident = None
        for level, kind, d in cmsgs:
            if (level, kind) == (socket.SOL_SOCKET, SO_TIMESTAMPING):
                w = struct.unpack("6q", d[:48])
                assert w[:4] == (0, 0, 0, 0), w  # no software's, and none that would be taken for the hardware's
                hw = w[4] * 10**9 + w[5]
            elif level == socket.IPPROTO_IP:
                ident = struct.unpack("I4B2I", d[:16])[6]
        return ident, hw
    return None, None


def sent(what, s, phc, data, want, control=()):
    """Sends, and says how the stamp lies between two looks at the clock that made it, and, by the system's clock,
    between two looks at that."""
    ahead, off = phc.ahead()
    real, before = time.time_ns(), phc.now()
    s.sendmsg([data], control)
    ident, hw = stamp(s)
    after, real_after = phc.now(), time.time_ns()
    s.settimeout(10)
    back = s.recv(2000)
    good = hw is not None and before <= hw <= after
    fits = hw is not None and real - off - 1000000 <= hw - ahead <= real_after + off + 1000000
    if not (good and fits and ident == want and back == data):
        print(what, "number", ident, "wanted", want, "stamp", hw, "between", before, after, "ahead", ahead, off, back == data)
    return good and fits and ident == want and back == data


def ask(own, peer, port, device):
    phc = Phc(device)
    udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    udp.bind((own, 0))
    udp.connect((peer, port))
    print("SIOCSHWTSTAMP", struct.unpack("iii", about(udp, SIOCSHWTSTAMP, device, struct.pack("iii", 0, 1, 0))))  # TX_ON
    udp.settimeout(10)
    udp.send(b"first")
    assert udp.recv(100) == b"first"
    udp.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPING, TX_HW | RAW | ID | TSONLY)
    print("datagrams", sum(sent("datagram", udp, phc, b"datagram %d" % i, i) for i in range(DATAGRAMS)))
    time.clock_settime_ns(phc.clock, phc.now() + STEP * 10**9)
    print("datagrams after the clock was set", sum(sent("datagram", udp, phc, b"x" * 1000, DATAGRAMS + i) for i in range(5)))
    tcp = socket.socket()
    tcp.settimeout(10)
    tcp.connect((peer, port))
    tcp.sendall(b"first")
    assert tcp.recv(100) == b"first"
    tcp.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPING, TX_HW | RAW | ID | TSONLY)
    print("writes", sum(sent("write", tcp, phc, b"y" * 100, 100 * (i + 1) - 1) for i in range(5)))
    tcp = socket.socket()
    tcp.settimeout(10)
    tcp.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPING, TX_HW | RAW | TSONLY)
    tcp.connect((peer, port))
    print("writes of one that asked before", sum(sent("write", tcp, phc, b"z" * 100, 0) for i in range(5)))
    alone = [(socket.SOL_SOCKET, SO_TIMESTAMPING, struct.pack("I", TX_HW))]
    for what, kind in (("datagrams", socket.SOCK_DGRAM), ("writes", socket.SOCK_STREAM)):
        s = socket.socket(socket.AF_INET, kind)
        s.settimeout(10)
        s.connect((peer, port))
        s.send(b"first")
        assert s.recv(100) == b"first"
        s.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPING, RAW | TSONLY)
        print(what, "that ask themselves", sum(sent(what, s, phc, b"w" * 100, 0, alone) for i in range(5)))
    time.clock_settime_ns(phc.clock, phc.now() - STEP * 10**9)


if sys.argv[1] == "echo":
    echo(sys.argv[2], int(sys.argv[3]))
else:
    ask(sys.argv[2], sys.argv[3], int(sys.argv[4]), sys.argv[5])
