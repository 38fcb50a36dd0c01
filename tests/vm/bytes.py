# SPDX-License-Identifier: BSD-2-Clause
"""Checked traffic: who asks sends a pattern in pieces and has it echoed, byte for byte.

bytes.py serve ADDRESS PORT            echoes, any number of connections, and datagrams
bytes.py ask ADDRESS PORT BYTES FILE   ends with status 0 if all came back right; FILE then has how
                                       many, and of how many of its connections the kernel knows
bytes.py ask ADDRESS PORT BYTES FILE N first N datagrams of all sizes, one at a time
bytes.py ask ADDRESS PORT 0 FILE       until FILE.stop is there; FILE has the bytes so far, always;
                                       while there is a file `slow` beside it, a piece each 50 ms
"""
import os
import socket
import subprocess
import sys
import threading
import time

PIECE = 20000
PATTERN = bytes((i * 7 + i // 251) % 256 for i in range(65536 + PIECE))


def piece(at):
    at %= 65536
    return PATTERN[at:at + PIECE]


def echo(c):
    try:
        while data := c.recv(65536):
            c.sendall(data)
    except OSError as e:
        print("echo:", e, flush=True)
    c.close()  # (whoever accepted it has it still)


def echo_datagrams(address, port):
    s = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_DGRAM)
    s.bind((address, port))
    while True:
        data, sender = s.recvfrom(65536)
        s.sendto(data, sender)


def datagrams(address, port, number):
    s = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_DGRAM)
    s.bind(("::" if ":" in address else "0.0.0.0", 0))
    s.settimeout(20)
    for i in range(number):
        want = piece(i * 99)[:1 + i * 1471 // max(number - 1, 1)]
        s.sendto(want, (address, port))
        if s.recv(65536) != want:
            sys.exit(f"datagram {i} is not what was sent")


def serve(address, port):
    threading.Thread(target=echo_datagrams, args=(address, port), daemon=True).start()
    s = socket.create_server((address, port), family=socket.AF_INET6 if ":" in address else socket.AF_INET)
    while True:
        c, _ = s.accept()
        threading.Thread(target=echo, args=(c,), daemon=True).start()


def kernels(port):
    """Established connections to the port in the kernel."""
    out = subprocess.run(["ss", "-Htn", "state", "established", f"( dport = :{port} )"],
                         capture_output=True, text=True, env={"PATH": os.environ["PATH"]}).stdout
    return len(out.splitlines())


def tell(file, text):
    with open(file + ".new", "w") as f:
        f.write(text)
    os.rename(file + ".new", file)


def ask(address, port, total, file):
    c = socket.create_connection((address, port), timeout=None)
    done = 0
    said = time.monotonic()
    slow = os.path.join(os.path.dirname(file), "slow")
    while total and done < total or not total and not os.path.exists(file + ".stop"):
        want = piece(done)
        c.sendall(want)
        got = b""
        while len(got) < len(want):
            data = c.recv(len(want) - len(got))
            if not data:
                sys.exit(f"the connection ended after {done + len(got)} bytes")
            got += data
        if got != want:
            sys.exit(f"wrong bytes after {done}")
        done += len(want)
        if not total and time.monotonic() - said > 0.05:
            said = time.monotonic()
            tell(file, f"{done}\n")
        if not total and os.path.exists(slow):
            time.sleep(0.05)
    tell(file, f"{done} {kernels(port)}\n")


if sys.argv[1] == "serve":
    serve(sys.argv[2], int(sys.argv[3]))
else:
    if len(sys.argv) > 6:
        datagrams(sys.argv[2], int(sys.argv[3]), int(sys.argv[6]))
    ask(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), sys.argv[5])
