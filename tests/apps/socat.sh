#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# socat: UDP echo over IPv4 and IPv6, in one process and with a child for each peer; a file through.
. "$(dirname "$0")/lib.sh"
need socat python3
net_up
head -c 8000 /dev/urandom | base64 -w 70 >"$TMP/lines"

# Sends lines of several sizes and waits for the answer to each; several peers in turn. TRIES: socat's
# RECVFROM with fork drops some itself, when a child and its parent look at the same time.
cat >"$TMP/ask.py" <<'PY'
import socket, sys
host, port, npeers, tries = sys.argv[1], *map(int, sys.argv[2:5])
fam = socket.AF_INET6 if ":" in host else socket.AF_INET
peers = []
for i in range(npeers):
    s = socket.socket(fam, socket.SOCK_DGRAM)
    s.settimeout(5 / tries)
    s.connect((host, port))
    peers.append(s)
for n in (1, 10, 1000, 1472 - 20, 100):
    for i, s in enumerate(peers):
        said = b"%d:%d:" % (i, n) + b"x" * n
        for _ in range(tries):
            try:
                s.send(said)
                answer = s.recv(65536) == said
                if answer:
                    break
            except OSError as e:
                answer = e
        print(i, n, answer)
PY
tell_end() { pkill -x socat --ns "$1" --nslist net; } # children that serve one peer never end
children() { # name, listening address of socat, address, peers, tries
	bg pb socat "$2" EXEC:cat 2>"$(said "$1")"
	wait_server "$BG" 7200
	differ "$1" pa python3 "$TMP/ask.py" "$3" 7200 "$4" "$5"
	tell_end "$BG"
	wait "$BG" 2>/dev/null
	wait_until 5 not udp_bound b 7200 || fail "$1: somebody keeps the port"
}
alone() { # name, listening address of socat, address
	bg pb socat "$2" PIPE 2>"$(said "$1")"
	wait_server "$BG" 7200
	offload_begin
	differ "$1" pa python3 "$TMP/ask.py" "$3" 7200 1 1
	offload_end 10 10 # (one datagram may have come before the claim)
	stop "$BG"
}
one_way() {
	bg pb socat -u "UDP4-RECV:7202,bind=$B4" "CREATE:$TMP/out"
	wait_server "$BG" 7202
	offload_begin
	pa socat -u -b 70 "OPEN:$TMP/lines" "UDP4-SENDTO:$B4:7202"
	wait_until 10 cmp -s "$TMP/lines" "$TMP/out"
	ok "a file arrives whole" cmp "$TMP/lines" "$TMP/out"
	offload_end 100
	stop "$BG"
	rm -f "$TMP/out"
}
for MODE in $MODES; do
	alone pipe4 "UDP4-LISTEN:7200,bind=$B4" "$B4"
	alone pipe6 "UDP6-LISTEN:7200,bind=[$B6]" "$B6"
	alone any "UDP-LISTEN:7200" "$B4"
	children fork4 "UDP4-LISTEN:7200,fork,reuseaddr" "$B4" 3 1
	children fork6 "UDP6-LISTEN:7200,fork,reuseaddr" "$B6" 3 1
	children recvfrom "UDP4-RECVFROM:7200,fork" "$B4" 3 10
	children recvfrom6 "UDP6-RECVFROM:7200,fork" "$B6" 3 10
	one_way
	differ nowhere pa sh -c 'echo x | socat -T 1 - UDP4:'"$B4"':7299 2>&1 | sed "s/.*: //"'
done
done_testing
