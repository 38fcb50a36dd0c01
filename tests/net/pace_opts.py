# SPDX-License-Identifier: BSD-2-Clause
"""pace_opts.py OWN PEER PORT: which values SO_MAX_PACING_RATE takes and returns, in buffers of all lengths."""
import ctypes, errno, os, socket, struct, sys

libc = ctypes.CDLL(None, use_errno=True)
RATE = 47
own, peer, port = sys.argv[1:4]
family = socket.AF_INET6 if ":" in own else socket.AF_INET


def set_(s, value):
    r = libc.setsockopt(s.fileno(), socket.SOL_SOCKET, RATE, value, len(value))
    return r if r == 0 else errno.errorcode[ctypes.get_errno()]


def get(s, n):
    buf = ctypes.create_string_buffer(b"\xaa" * 32, 32)
    size = ctypes.c_uint(n)
    r = libc.getsockopt(s.fileno(), socket.SOL_SOCKET, RATE, buf, ctypes.byref(size))
    return (r if r == 0 else errno.errorcode[ctypes.get_errno()], size.value, buf.raw[:16].hex())


for kind in (socket.SOCK_DGRAM, socket.SOCK_STREAM):
    for connected in (False, True):
        s = socket.socket(family, kind)
        if connected and kind == socket.SOCK_DGRAM:
            s.connect((peer, int(port)))
        for n in (0, 1, 3, 4, 5, 7, 8, 9, 16, 24):
            for v in (0, 1, 125000, 2**31, 2**32 - 1, 2**32, 10**12, 2**64 - 1):
                print(kind.name, connected, n, v, set_(s, struct.pack("QQQ", v, 7, 7)[:n]), get(s, 4), get(s, 8))
        for n in (0, 3, 4, 7, 8, 9, 11, 13, 16):
            print(kind.name, connected, "get", n, get(s, n))
        print("no pointer", libc.setsockopt(s.fileno(), socket.SOL_SOCKET, RATE, None, 8))
        s.close()

# A value of three fields, which only Sluice knows. (The kernel takes its first eight bytes.)
ours = "sluice" in os.environ.get("LD_PRELOAD", "")
for kind in (socket.SOCK_DGRAM, socket.SOCK_STREAM):
    s = socket.socket(family, kind)
    three = struct.pack("IIHxx", 8000, 5000, 1250)
    set_(s, three if ours else struct.pack("Q", 1000000))
    print(kind.name, "three:", get(s, 4), get(s, 8))
    if ours and get(s, 12) != (0, 12, three.hex() + "aa" * 4):
        print("three are read back as", get(s, 12))
    set_(s, struct.pack("I", 1000000))
    print(kind.name, "one again:", get(s, 8), get(s, 12))
    set_(s, struct.pack("IIHxx", 0, 0, 0) if ours else struct.pack("Q", 2**64 - 1))
    print(kind.name, "none:", get(s, 8))
    s.close()
