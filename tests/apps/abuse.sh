#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Programs that treat their sockets badly: they leave with data queued, close under other threads,
# open two thousand, are stopped for seconds under traffic, have hardly any descriptors.
. "$(dirname "$0")/lib.sh"
need python3 "$BUILD/tests/apps/abuse" "$BIN/echo"
net_up

abuse() { pb timeout 60 "$BUILD/tests/apps/abuse" "$1" "$B4" "$A4" 7000; }
few() { pb prlimit --nofile="$1:$1" timeout 60 "$BUILD/tests/apps/abuse" exit "$B4" "$A4" 7000; }

# A program is stopped in the middle of traffic: another program of the host goes on as before, and the
# stopped one goes on when it is woken.
cat >"$TMP/ask.py" <<'PY'
import socket, sys, time
host, port, n = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.settimeout(3)
good = 0
for i in range(n):
    s.sendto(b"%d" % i, (host, port))
    try:
        good += s.recv(100) == b"%d" % i
    except OSError:
        pass
    time.sleep(0.002)
print("most of", n if good >= n * 0.9 else good)
PY
stopped() {
	local subject other
	bg pb python3 "$TESTS/net/reflector.py" "$B4" 7010 1
	subject=$BG
	wait_server "$subject" 7010
	bg b python3 "$TESTS/net/reflector.py" "$B4" 7020 1
	other=$BG
	wait_udp b 7020
	pa python3 "$TMP/ask.py" "$B4" 7010 50
	kill -STOP "$subject"
	a timeout 2 python3 -c "
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
while True:
    s.sendto(b'x' * 100, ('$B4', 7010))"
	pa python3 "$TMP/ask.py" "$B4" 7020 200
	kill -CONT "$subject"
	pa python3 "$TMP/ask.py" "$B4" 7010 50
	stop "$subject" "$other"
}
for MODE in $MODES; do
	bg pa "$BIN/echo" "$A4" 7000
	ECHO=$BG
	wait_udp a 7000
	differ exit abuse exit
	differ threads abuse threads
	differ early abuse early
	offload_begin
	differ many abuse many
	offload_end 3000
	differ churn abuse churn
	for n in 12 20 32 48; do differ "few-$n" few $n; done
	stop "$ECHO"
	differ stopped stopped
done
done_testing
