# SPDX-License-Identifier: BSD-2-Clause
"""hostile_pass.py serve ADDRESS PORT: answers one connection after the other, byte by byte.
hostile_pass.py ask ADDRESS PORT SECONDS: asks each 2 ms; prints its port, at the end the longest wait for an answer in ms.
hostile_pass.py attack SOCKET DEVICE ADDRESS PORT PEER: as root; binds the port as user 1001 beside the server's socket, prints
"bound", reads a peer's port from its input and lets that flow pass to the kernel; prints the daemon's error."""
import os
import socket
import struct
import sys
import time

from leaselib import call, claim, dial, flow_key

what, *args = sys.argv[1:]
s = socket.socket()
if what == "serve":
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    s.bind((args[0], int(args[1])))
    s.listen()
    while True:
        c, _ = s.accept()
        while data := c.recv(100):
            c.sendall(data)
elif what == "ask":
    s.connect((args[0], int(args[1])))
    print(s.getsockname()[1], flush=True)
    longest, end = 0, time.monotonic() + float(args[2])
    while time.monotonic() < end:
        t = time.monotonic()
        s.sendall(b"x")
        assert s.recv(1) == b"x"
        longest = max(longest, time.monotonic() - t)
        time.sleep(0.002)
    print(int(longest * 1000), flush=True)
else:
    path, device, own, port, peer = args
    ifindex = socket.if_nametoindex(device)
    os.seteuid(1001)
    s.close()
    s = socket.socket()
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    s.bind(("0.0.0.0", int(port)))
    lease = dial(path)
    ns = os.open("/proc/self/ns/net", os.O_RDONLY)
    assert call(lease, "HELLO", b"shared".ljust(48, b"\0"), [ns])[0] == 0
    os.seteuid(0)
    port_body = struct.pack("=II", ifindex, 0)
    assert call(lease, "UMEM")[0] == 0 and call(lease, "PORT_OPEN", port_body)[0] == 0
    print("bound", flush=True)
    for line in sys.stdin:
        key = flow_key(socket.IPPROTO_TCP, (own, int(port)), (peer, int(line)))
        print(call(lease, "CLAIM", claim(ifindex, key, flags=4), [s.fileno()])[0], flush=True)
