#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# memcached over UDP: four threads, each with an epoll set of its own, all on one socket.
. "$(dirname "$0")/lib.sh"
need memcached python3
net_up
cat >"$TMP/ask.py" <<'PY'
import selectors, socket, struct, sys
socks = []
for i in range(8):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.settimeout(5)
    s.connect((sys.argv[1], 11311))
    socks.append(s)

def ask(s, ident, text):
    s.send(struct.pack("!HHHH", ident, 0, 1, 0) + text)
    got = b""
    while True:
        data = s.recv(65536)
        rid, seq, total, _ = struct.unpack("!HHHH", data[:8])
        if rid != ident:
            continue
        got += data[8:]
        if seq == total - 1:
            return got

good = 0
for k in range(100):
    for i, s in enumerate(socks):
        key, value = b"key%d-%d" % (i, k), b"v%d" % k * 100
        good += ask(s, 2 * k, b"set %s 0 0 %d\r\n%s\r\n" % (key, len(value), value)) == b"STORED\r\n"
        good += ask(s, 2 * k + 1, b"get %s\r\n" % key) == \
            b"VALUE %s 0 %d\r\n%s\r\nEND\r\n" % (key, len(value), value)
print(good)
PY
for MODE in $MODES; do
	bg pb memcached -u root -U 11311 -p 0 -l "$B4" -t 4 2>"$(said server)"
	server=$BG
	wait_server "$server" 11311
	offload_begin
	differ memcached pa python3 "$TMP/ask.py" "$B4"
	offload_end 1600 1600
	stop "$server"
done
done_testing
