#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# dig and dnsperf against unbound: the same answers, none lost.
. "$(dirname "$0")/lib.sh"
need unbound dig dnsperf
net_up
{
	echo "server:
  interface: $B4
  interface: $B6
  port: 5353
  username: \"\"
  chroot: \"\"
  directory: \"$TMP\"
  pidfile: \"$TMP/unbound.pid\"
  use-syslog: no
  do-daemonize: no
  num-threads: 2
  access-control: 0.0.0.0/0 allow
  access-control: ::/0 allow
  local-zone: \"test.\" static
  local-data: \"long.test. TXT $(head -c 200 /dev/zero | tr '\0' x)\"
  local-data: \"long.test. TXT $(head -c 250 /dev/zero | tr '\0' y)\"
remote-control:
  control-enable: no"
	for i in $(seq 100); do echo "  local-data: \"host$i.test. A 192.0.2.$i\""; done |
		sed '1s/^/server:\n/'
} >"$TMP/unbound.conf"
for i in $(seq 100); do echo "host$i.test A"; done >"$TMP/queries"
# dnsperf resolves its own; our default rules keep port 53 with the kernel, so it is 5353 here.
for MODE in $MODES; do
	bg pb unbound -d -c "$TMP/unbound.conf" >"$TMP/unbound.log" 2>&1
	server=$BG
	wait_server "$server" 5353
	dig_it() { pa dig +tries=3 +time=2 +short -p 5353 "@$1" "$2" "$3"; }
	differ dig4 dig_it "$B4" host7.test A
	differ dig6 dig_it "$B6" host99.test A
	differ dig-txt dig_it "$B4" long.test TXT
	differ dig-none pa dig +tries=3 +time=2 +noall +comments +nocookie +qid=7 -p 5353 "@$B4" nosuch.test A
	offload_begin
	pa dnsperf -s "$B4" -p 5353 -d "$TMP/queries" -l 2 -c 4 -T 1 -Q 20000 >"$TMP/dnsperf" 2>&1 ||
		fail "dnsperf: status $?"
	n=$(sed -n 's/.*Queries completed: *\([0-9]*\).*/\1/p' "$TMP/dnsperf")
	lost=$(sed -n 's/.*Queries lost: *\([0-9]*\).*/\1/p' "$TMP/dnsperf")
	ok "dnsperf: answers (${n:-none})" test "${n:-0}" -ge 2000
	same "dnsperf: none lost" 0 "$lost"
	ok "dnsperf: all NOERROR" file_has "$TMP/dnsperf" "NOERROR $n (100.00%)"
	offload_end "${n:-0}"
	[ "$FAILED" = 0 ] || tail -n 5 "$TMP/unbound.log" "$TMP/dnsperf"
	stop "$server"
done
grep -q 192.0.2.7 "$TMP/oracle.dig4" || fail "the oracle has no address"
done_testing
