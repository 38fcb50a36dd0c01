# SPDX-License-Identifier: BSD-2-Clause
"""late_sniff.py PORT OTHER-PORT: prints packets to PORT, OTHER-PORT and the next one that pass the loopback device, until SIGTERM."""
import signal, socket, struct, sys, time

port, other = int(sys.argv[1]), int(sys.argv[2])
s = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(3))
s.bind(("lo", 0))
signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
print("ready", flush=True)
while True:
    p, where = s.recvfrom(65536)
    if where[2] != socket.PACKET_HOST:
        continue
    v6 = p[0] >> 4 == 6
    proto, l4 = (p[6], 40) if v6 else (p[9], (p[0] & 15) * 4)
    sport, dport = struct.unpack_from("!HH", p, l4)
    if dport not in (port, other, other + 1):
        continue
    plain = "plain" if l4 == (40 if v6 else 20) and proto == 6 and dport == port and sport == 4444 else "STRANGE"
    print(plain, chr(p[-1]), flush=True)
