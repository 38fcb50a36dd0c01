# SPDX-License-Identifier: BSD-2-Clause
"""cgroup_programs.py before|later CGROUP PEER: an administrator's BPF program for a control group forbids connect(2) of
IPv4, before the process's first socket or after it. Prints what connect() and sendto() say."""
import ctypes
import os
import socket
import struct
import sys
import time

LIBC = ctypes.CDLL(None, use_errno=True)
SYS_BPF, PROG_LOAD, PROG_ATTACH = 321, 5, 8
SOCK_ADDR, CONNECT4 = 18, 10  # BPF_PROG_TYPE_CGROUP_SOCK_ADDR, BPF_CGROUP_INET4_CONNECT


def bpf(cmd, attr):
    buf = ctypes.create_string_buffer(attr, 128)
    r = LIBC.syscall(SYS_BPF, cmd, buf, 128)
    if r < 0:
        raise OSError(ctypes.get_errno(), "bpf")
    return r


def forbid(group):
    code = ctypes.create_string_buffer(struct.pack("<BBhi", 0xb7, 0, 0, 0) + struct.pack("<BBhi", 0x95, 0, 0, 0))
    text = ctypes.create_string_buffer(b"GPL")
    prog = bpf(PROG_LOAD, struct.pack("=IIQQIIQII16sII", SOCK_ADDR, 2, ctypes.addressof(code), ctypes.addressof(text),
                                      0, 0, 0, 0, 0, b"", 0, CONNECT4))
    fd = os.open(group, os.O_RDONLY)
    bpf(PROG_ATTACH, struct.pack("=IIII", fd, prog, CONNECT4, 0))


def connect(peer):
    with socket.socket() as s:
        s.settimeout(5)
        try:
            s.connect((peer, 7000))
            s.sendall(b"x")
            return s.recv(1)
        except OSError as e:
            return os.strerror(e.errno)


how, group, peer = sys.argv[1:]
with open(group + "/cgroup.procs", "w") as f:
    f.write(str(os.getpid()))
if how == "before":
    forbid(group)
    print(connect(peer))
else:
    s = socket.create_connection((peer, 7000))
    print(connect(peer))
    forbid(group)
    end = time.monotonic() + 10
    while (r := connect(peer)) == b"x" and time.monotonic() < end:
        time.sleep(0.1)
    print(r)
    s.sendall(b"y")
    print(s.recv(1))
