#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# socat and nc over TCP: echo in one process and with a child for each peer, files both ways, a relay,
# half-closed connections, nobody there.
. "$(dirname "$0")/lib_tcp.sh"
need socat nc python3
net_up
head -c 700000 /dev/urandom >"$TMP/file"
# Several peers in turn and at once, each with words of several sizes.
cat >"$TMP/ask.py" <<'PY'
import socket, sys
host, port, npeers = sys.argv[1], *map(int, sys.argv[2:4])
peers = [socket.create_connection((host, port), 10) for _ in range(npeers)]
for n in (1, 10, 1000, 5000, 100):
    for i, s in enumerate(peers):
        said = b"%d:%d:" % (i, n) + b"x" * n
        s.sendall(said)
        got = b""
        while len(got) < len(said):
            piece = s.recv(65536)
            if not piece:
                break
            got += piece
        print(i, n, got == said)
for s in peers:
    s.shutdown(socket.SHUT_WR)
    print(s.recv(10))
PY
whole() { # file name
	wait_until 20 cmp -s "$TMP/file" "$1"
	ok "$2: the file is whole" cmp "$TMP/file" "$1"
	rm -f "$1"
}
for MODE in $MODES; do
	segs_begin
	serve 7200 socat "TCP4-LISTEN:7200,bind=$B4,reuseaddr" PIPE && differ pipe pa python3 "$TMP/ask.py" "$B4" 7200 1
	wait_end "$SERVER" 10
	segs_end pipe 40
	serve 7200 socat TCP6-LISTEN:7200,fork,reuseaddr EXEC:cat && differ fork6 pa python3 "$TMP/ask.py" "$B6" 7200 3
	stop "$SERVER"
	serve 7200 socat TCP4-LISTEN:7200,fork,reuseaddr EXEC:cat && differ fork4 pa python3 "$TMP/ask.py" "$B4" 7200 3
	stop "$SERVER"
	serve 7201 socat -u "TCP4-LISTEN:7201,bind=$B4,reuseaddr" "CREATE:$TMP/out"
	pa timeout 20 socat -u "OPEN:$TMP/file" "TCP4:$B4:7201"
	wait_end "$SERVER" 10
	whole "$TMP/out" "socat up"
	serve 7202 socat -u "OPEN:$TMP/file" "TCP4-LISTEN:7202,bind=$B4,reuseaddr"
	pa timeout 20 socat -u "TCP4:$B4:7202" "CREATE:$TMP/out"
	wait_end "$SERVER" 10
	whole "$TMP/out" "socat down"
	bg pb nc -l "$B4" 7203 >"$TMP/out" </dev/null
	server=$BG
	wait_tcp b 7203
	pa timeout 20 nc -N "$B4" 7203 <"$TMP/file"
	wait_end "$server" 10
	whole "$TMP/out" "nc up"
	bg pb nc -N -l "$B6" 7204 <"$TMP/file" >/dev/null
	server=$BG
	wait_tcp b 7204
	pa timeout 20 nc -d "$B6" 7204 >"$TMP/out"
	wait_end "$server" 10
	whole "$TMP/out" "nc down"
	# A relay on b between a client on a and a server on a.
	bg pa socat -u "OPEN:$TMP/file" "TCP4-LISTEN:7205,bind=$A4,reuseaddr"
	source=$BG
	wait_tcp a 7205
	serve 7206 socat "TCP4-LISTEN:7206,bind=$B4,reuseaddr" "TCP4:$A4:7205"
	pa timeout 20 socat -u "TCP4:$B4:7206" "CREATE:$TMP/out"
	whole "$TMP/out" relay
	wait_end "$SERVER" 10
	wait_end "$source" 10
	differ nowhere pa sh -c 'echo x | socat -T 1 - TCP4:'"$B4"':7299 2>&1 | sed "s/.*: //"; nc -zv '"$B4"' 7299 2>&1 | sed "s/.*: //"; true'
done
done_testing
