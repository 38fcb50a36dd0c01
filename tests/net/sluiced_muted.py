# SPDX-License-Identifier: BSD-2-Clause
"""sluiced_muted.py SOCKET IFINDEX: a process with a lease and a lane. It says "ready", and for each line that it reads it
asks whether the device is steered still, at once, and prints the answer."""
import struct
import sys
import time

from leaselib import call, dial, greet

sock = dial(sys.argv[1], 30)
PORT = struct.pack("=II", int(sys.argv[2]), 0)

assert greet(sock)[0] == 0
for op, body in (("UMEM", b""), ("PORT_OPEN", PORT), ("LANE_OPEN", PORT)):
    while (err := call(sock, op, body)[0]) == -28:  # ENOSPC: the last lease's frames are not back
        time.sleep(0.02)
    assert err == 0, (op, err)
print("ready", flush=True)
for _ in sys.stdin:
    err, body = call(sock, "PORT_ALIVE", PORT)
    print("alive", err, *struct.unpack_from("=I", body), flush=True)
