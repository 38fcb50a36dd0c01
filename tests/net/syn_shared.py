# SPDX-License-Identifier: BSD-2-Clause
"""syn_shared.py server OWN PORT: two listeners share PORT (SO_REUSEPORT), so each SYN is noted in `picked`; another one
has PORT + 1 alone, so none is. Echoes.
syn_shared.py client OWN PORT DEVICE MAC [N]: an honest client of both, without and with N (100,000) forged SYNs to that
port, a burst of 200 before each of its own. (A burst is made before it is sent, so that it comes as fast as it can.)
Prints "NAME.long yes" when a connection from before the flood still works, "NAME.served N", "NAME.late N" (SYNs that had to
be sent again), and the medians of the times to connect in microseconds, "NAME.alone N" and "NAME.beside N"; "NAME.all N" is
from the beginning of the burst, as the kernel answers a part of it while it is sent."""
import selectors, socket, struct, subprocess, sys, time

FORGED = int(sys.argv[6]) if len(sys.argv) > 6 else 100000
ROUND = 200  # forged SYNs for each honest connection
own, port = sys.argv[2], int(sys.argv[3])


def server():
    sel = selectors.DefaultSelector()
    for at in port, port, port + 1:
        s = socket.socket()
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, at == port)
        s.bind((own, at))
        s.listen(256)
        sel.register(s, selectors.EVENT_READ, True)
    while True:
        for key, _ in sel.select():
            if key.data:
                sel.register(key.fileobj.accept()[0], selectors.EVENT_READ, False)
                continue
            data = key.fileobj.recv(100)
            if data:
                key.fileobj.send(data)
            else:
                sel.unregister(key.fileobj)
                key.fileobj.close()


def inetsum(data):
    n = sum(struct.unpack(f"!{len(data) // 2}H", data))
    n = (n >> 16) + (n & 0xFFFF)
    return ~(n + (n >> 16)) & 0xFFFF


def forge(eth, i, port):
    src, dst = struct.pack("!I", 0x0B000000 + i), socket.inet_aton(own)
    ip = struct.pack("!BBHHHBBH", 0x45, 0, 40, 0, 0x4000, 64, 6, 0) + src + dst
    ip = ip[:10] + struct.pack("!H", inetsum(ip)) + ip[12:]
    tcp = struct.pack("!HHIIBBHHH", 1024 + i % 60000, port, i * 2654435761 & 0xFFFFFFFF, 0, 0x50, 2, 65535, 0, 0)
    s = inetsum(src + dst + struct.pack("!HH", 6, 20) + tcp)
    return eth + ip + tcp[:16] + struct.pack("!H", s) + tcp[18:]


def connect(port):
    s = socket.socket()
    s.settimeout(20)
    t = time.monotonic()
    s.connect((own, port))
    t = time.monotonic() - t
    s.send(b"x")
    assert s.recv(1) == b"x"
    return s, t


def client():
    device, mac = sys.argv[4:6]
    raw = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
    raw.bind((device, 0))
    eth = bytes.fromhex(mac.replace(":", "")) + raw.getsockname()[4] + b"\x08\x00"

    def rounds(port, flood):
        times, whole = [], []
        for at in range(0, FORGED, ROUND):
            frames = [forge(eth, i, port) for i in range(at, at + ROUND if flood else at)]
            begin = time.monotonic()
            for frame in frames:
                raw.send(frame)
            try:
                s, t = connect(port)
                whole.append(time.monotonic() - begin)
                s.close()
                times.append(t)
            except (OSError, AssertionError) as e:
                print("failed", e)
        return sorted(times), sorted(whole)

    for name, to in ("unshared", port + 1), ("shared", port):
        long = connect(to)[0]
        alone, (beside, whole) = rounds(to, False)[0], rounds(to, True)
        long.send(b"y")
        print(f"{name}.long", "yes" if long.recv(1) == b"y" else "no")
        print(f"{name}.served", len(beside))
        print(f"{name}.late", sum(t > 0.9 for t in beside))
        print(f"{name}.alone", round(alone[len(alone) // 2] * 1e6))
        print(f"{name}.beside", round(beside[len(beside) // 2] * 1e6))
        print(f"{name}.all", round(whole[len(whole) // 2] * 1e6), flush=True)


server() if sys.argv[1] == "server" else client()
