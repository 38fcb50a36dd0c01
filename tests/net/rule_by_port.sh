#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Policy rules that look at the protocol and at ports (ip rule add ipproto tcp dport 7001 ...) hold for offloaded
# sockets, those that were there and those that come while the program runs.
. "$(dirname "$0")/lib_tcp.sh"
net_up
meet
cat >"$TMP/serve.py" <<'E2'
import selectors, socket, sys
sel = selectors.DefaultSelector()
family = socket.AF_INET6 if ":" in sys.argv[1] else socket.AF_INET
for port in range(7000, 7005):
    t, u = socket.create_server((sys.argv[1], port), family=family), socket.socket(family, socket.SOCK_DGRAM)
    u.bind((sys.argv[1], port))
    sel.register(t, selectors.EVENT_READ, 1)
    sel.register(u, selectors.EVENT_READ, 0)
while True:
    for key, _ in sel.select():
        if key.data:
            c, _ = key.fileobj.accept()
            c.sendall(c.recv(1))
        else:
            data, to = key.fileobj.recvfrom(10)
            key.fileobj.sendto(data, to)
E2
cat >"$TMP/ask.py" <<'E2'
import errno, socket, subprocess, sys
peer = sys.argv[1]
family = socket.AF_INET6 if ":" in peer else socket.AF_INET


def attempt(f, *args):
    try:
        return f(*args)
    except OSError as e:
        return errno.errorcode.get(e.errno, type(e).__name__)


def ask(kind, port, own=0, connect=True):
    with socket.socket(family, kind) as s:
        s.settimeout(5)
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if own:
            s.bind(("", own))
        if connect:
            s.connect((peer, port))
            s.send(b"x")
        else:
            s.sendto(b"x", (peer, port))
        return s.recv(1).decode()


def round(what):
    for name, kind in (("tcp", socket.SOCK_STREAM), ("udp", socket.SOCK_DGRAM)):
        print(what, name, *(attempt(ask, kind, port) for port in range(7000, 7004)), "from 6001", attempt(ask, kind, 7000, 6001))
    print(what, "sendto", *(attempt(ask, socket.SOCK_DGRAM, port, 0, False) for port in range(7000, 7004)))


round("before")
version = "-6" if family == socket.AF_INET6 else "-4"
rule = ["pref", "13", "ipproto", "tcp", "dport", "7003", "prohibit"]
subprocess.run(["ip", version, "rule", "add", *rule], check=True)
round("a rule more")
subprocess.run(["ip", version, "rule", "del", *rule], check=True)
round("a rule less")
E2
bg a python3 "$TMP/serve.py" "$A4"
bg a python3 "$TMP/serve.py" "$A6"
wait_tcp a 7004
for v in -4 -6; do
	b ip $v rule add pref 10 ipproto tcp dport 7001 prohibit || { echo "skipped: this kernel has no rules by port"; exit 77; }
	b ip $v rule add pref 11 ipproto udp dport 7002 prohibit
	b ip $v rule add pref 12 sport 6001 ipproto tcp prohibit
done
for MODE in kernel one; do
	segs_begin
	differ v4 pb timeout 60 python3 "$TMP/ask.py" "$A4"
	differ v6 pb timeout 60 python3 "$TMP/ask.py" "$A6"
	segs_end both 60
done
done_testing
