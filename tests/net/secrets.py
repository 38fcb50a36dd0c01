# SPDX-License-Identifier: BSD-2-Clause
"""secrets.py OWN PORT FILE: a server with Fast Open. Prints which of the secrets that it makes segments with are in
its memory, in its children's, and in its own after it has become another user: the bytes of FILE (initial numbers), and
the machine's key of Fast Open's cookies, as bytes and as text.
secrets.py OWN PORT FILE keys: the same with the keys of hash tables. FILE: what strace(1) tells of getrandom(2).
secrets.py ask OWN PORT: its client. secrets.py look FILE [keys]: reads numbers of processes, prints what is in them."""
import os
import re
import socket
import subprocess
import sys

from parted import bare_fork

MSG_FASTOPEN, TCP_FASTOPEN = 0x20000000, 23
NOBODY = 65534


def key_bytes(text):
    return b"".join(int(part, 16).to_bytes(4, "little") for part in text.split("-"))


def memory_of(pid):
    """The contents of each mapping that can be read."""
    with open(f"/proc/{pid}/maps") as f:
        lines = f.read().splitlines()
    with open(f"/proc/{pid}/mem", "rb", buffering=0) as mem:
        for line in lines:
            at, perm = line.split()[:2]
            begin, end = (int(x, 16) for x in at.split("-"))
            if perm[0] != "r" or "[v" in line:
                continue
            while begin < end:
                n = min(end - begin, 1 << 22)
                try:
                    mem.seek(begin)
                    yield mem.read(n)
                except OSError:
                    pass
                begin += n


def secrets_of(path):
    with open("/proc/sys/net/ipv4/tcp_fastopen_key") as f:
        key = f.read().strip()
    with open(path, "rb") as f:
        return {"numbers": f.read(16), "key": key_bytes(key), "text": key.encode()}


def hash_keys_of(path):
    """The last 48 bytes of what was asked for as a key of a hash table (lib/base/hash.h), of the steering program's
    (lib/ctl/steer/load.c) and of source ports over VXLAN (lib/net/tunnel.c)."""
    with open(path) as f:
        asked = re.findall(r'getrandom\("([^"]*)", (56|64|80), 0\) = ', f.read())
    return {("steering" if size == "80" else f"key {i}"): bytes.fromhex(text.replace("\\x", ""))[-48:]
            for i, (text, size) in enumerate(asked)}


def look(path, what=secrets_of):
    wanted = None
    for line in sys.stdin:
        wanted = wanted or what(path)  # (a child makes others)
        found = set()
        for part in memory_of(int(line)):
            found |= {name for name, value in wanted.items() if value in part}
        print(sorted(found), flush=True)


def server(own, port, *look_for):
    with subprocess.Popen([sys.executable, sys.argv[0], "look", *look_for], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, text=True,
                          env={"PYTHONDONTWRITEBYTECODE": "1"}) as looker:
        def say(what):
            looker.stdin.write(f"{os.getpid()}\n")
            looker.stdin.flush()
            print(what, looker.stdout.readline().strip(), flush=True)

        serve(own, port, say)
        looker.stdin.close()


def serve(own, port, say):
    s = socket.socket(socket.AF_INET6 if ":" in own else socket.AF_INET)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    s.setsockopt(socket.IPPROTO_TCP, TCP_FASTOPEN, 5)
    s.bind((own, port))
    s.listen(5)
    for _ in range(2):
        c, _ = s.accept()
        c.sendall(c.recv(100))
    say("the server:")
    for kind, fork in ("fork", os.fork), ("bare", bare_fork):
        pid = fork()
        if pid == 0:
            c.getsockname()
            say(f"{kind}:")
            os._exit(0)
        os.waitpid(pid, 0)
    if os.getuid() == 0:
        os.setresuid(NOBODY, NOBODY, NOBODY)
        say("another user:")


def ask(own, port):
    for _ in range(2):
        s = socket.socket(socket.AF_INET6 if ":" in own else socket.AF_INET)
        s.sendto(b"hello", MSG_FASTOPEN, (own, port))
        assert s.recv(100) == b"hello"
        s.close()


if sys.argv[1] == "look":
    look(sys.argv[2], *[hash_keys_of] * (len(sys.argv) > 3))
elif sys.argv[1] == "ask":
    ask(sys.argv[2], int(sys.argv[3]))
else:
    server(sys.argv[1], int(sys.argv[2]), *sys.argv[3:])
