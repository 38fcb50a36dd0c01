#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Programs without privileges whose limit of processes allows no thread: offloaded if the limit is theirs, and else the
# kernel's, which the log and sluice stat say.
LEASED=1
. "$(dirname "$0")/../net/lib_tcp.sh"
P=$BUILD/tests/preload/nproc
need "$P" python3 setpriv prlimit
net_up
bg a python3 -c 'if 1:
	import socket, sys, threading
	l = socket.create_server((sys.argv[1], 7000))
	def echo(s):
		while d := s.recv(100):
			s.sendall(d)
	while True:
		threading.Thread(target=echo, args=(l.accept()[0],)).start()' "$A4"
wait_tcp a 7000
meet
PRE_USER=(setpriv --reuid=65534 --regid=65534 --clear-groups --bounding-set=-all)
for MODE in kernel one; do
	for case in before after soft; do
		segs_begin
		if [ "$MODE" = kernel ]; then
			differ $case b "${PRE_USER[@]}" "$P" "$A4" 7000 "$B4" $case </dev/null
		else
			differ $case sb "$P" "$A4" 7000 "$B4" $case </dev/null
		fi
		segs_end $case 60
	done
done

rm -f "$TMP"/sluice.*.log
mkfifo "$TMP/hold"
exec 9<>"$TMP/hold"
bg sb prlimit --nproc=0 "$P" "$A4" 7000 "$B4" inherited <"$TMP/hold" >"$TMP/out" 2>"$TMP/pid" 9>&-
wait_until 20 grep -q '^[0-9]' "$TMP/pid" || die "the program says nothing: $(cat "$TMP/out")"
ok "the log says why" grep -q "everything stays with the kernel: EAGAIN (the library's thread is not allowed; remedy:" \
	"$TMP"/sluice.*.log
b "$BUILD/sluice" stat -p "$(grep -m 1 '^[0-9]' "$TMP/pid")" --json >"$TMP/json"
same "sluice stat says why, too" "no thread is allowed for the library; remedy: a higher limit of processes \
(RLIMIT_NPROC, or pids.max of the control group)" "$(python3 -c '
import json, sys
for k in json.load(open(sys.argv[1]))["sockets"]:
    print(k["reason"])' "$TMP/json")"
same "no descriptor of the control group's is left open" 0 \
	"$(find "/proc/$(grep -m 1 '^[0-9]' "$TMP/pid")/fd" -type l -printf '%l\n' | grep -c cgroup)"
exec 9>&-
wait_end "$BG" 20 || fail "the program does not end"
same "and goes on" "under the limit: answered
limit 0, a thread: 11
after a pause: answered
at last: answered" "$(cat "$TMP/out")"
done_testing
