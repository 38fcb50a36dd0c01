#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# mlockall(2) of a program without privileges, whose limit of locked memory is below the library's memory.
LEASED=1
. "$(dirname "$0")/../net/lib_tcp.sh"
P=$BUILD/tests/preload/lock_all
need "$P" python3
unsanitized "a sanitizer's own memory is beyond the limit"
ulimit -l 8192 || skip "the limit of locked memory cannot be set"
net_up
bg a python3 -c 'if 1:
	import socket, sys
	l = socket.create_server((sys.argv[1], 7000))
	while True:
		s, _ = l.accept()
		while d := s.recv(100):
			s.sendall(d)' "$A4"
wait_tcp a 7000
meet
PRE_USER=(setpriv --reuid=65534 --regid=65534 --clear-groups --bounding-set=-all)
for MODE in kernel one; do
	segs_begin
	if [ "$MODE" = kernel ]; then
		differ lock_all b "${PRE_USER[@]}" "$P" "$A4" 7000 "$B4"
	else
		differ lock_all sb "$P" "$A4" 7000 "$B4"
		ok "the log says it" grep -qh "mlockall: the program's .* KB are locked" "$TMP"/sluice.*.log
	fi
	segs_end lock_all 60
done
done_testing
