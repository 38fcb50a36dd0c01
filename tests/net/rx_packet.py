# SPDX-License-Identifier: BSD-2-Clause
"""rx_packet.py: what a program can do with the packet socket that the daemon lends it.

hear ADDRESS PORT FILE: writes the first datagram that arrives.
ring PID: tries to make a larger ring.
send PID MAC FROM TO PORT: sends datagrams, with MAC for the receiver's address."""
import ctypes
import os
import socket
import struct
import sys

from inetsum import checksum

SOL_PACKET, PACKET_RX_RING = 263, 5


def lent_socket(pid):
    """The packet socket of another process."""
    libc = ctypes.CDLL(None, use_errno=True)
    pidfd = os.pidfd_open(pid)
    for fd in map(int, os.listdir(f"/proc/{pid}/fd")):
        got = libc.syscall(438, pidfd, fd, 0)  # pidfd_getfd
        if got < 0:
            continue
        try:
            s = socket.socket(fileno=got)
            if s.family == socket.AF_PACKET and s.getsockname()[0].startswith("rx"):
                return s
            s.detach()
        except OSError:
            pass
        os.close(got)
    sys.exit("no packet socket")


def frame(mac, src, dst, port):
    data = b"forged"
    udp = struct.pack("!HHHH", 4000, port, 8 + len(data), 0) + data
    ip = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 20 + len(udp), 1, 0, 64, 17, 0, socket.inet_aton(src),
                     socket.inet_aton(dst))
    ip = ip[:10] + struct.pack("!H", checksum(ip)) + ip[12:]
    return bytes.fromhex(mac.replace(":", "")) + bytes([2, 0, 0, 0, 0, 1]) + b"\x08\x00" + ip + udp


what = sys.argv[1]
if what == "hear":
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.bind((sys.argv[2], int(sys.argv[3])))
    with open(sys.argv[4], "wb") as f:
        f.write(s.recv(100))
elif what == "ring":
    s = lent_socket(int(sys.argv[2]))
    try:
        s.setsockopt(SOL_PACKET, PACKET_RX_RING, struct.pack("IIII", 1 << 20, 64, 2048, 32768))
        print("made")
    except OSError:
        print("refused")
else:
    s = lent_socket(int(sys.argv[2]))
    f = bytes(10) + frame(*sys.argv[3:6], int(sys.argv[6]))  # (a virtio header is in front)
    print("sent", sum(s.send(f) == len(f) for _ in range(20)))
