#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# dig and dnsperf against unbound: the same answers, none lost.
. "$(dirname "$0")/lib.sh"
need unbound dig dnsperf
net_up
conf() { # threads so-reuseport daemonize
	echo "server:
  interface: $B4
  interface: $B6
  port: 5353
  username: \"\"
  chroot: \"\"
  directory: \"$TMP\"
  pidfile: \"$TMP/unbound.pid\"
  rrset-roundrobin: no
  use-syslog: no
  do-daemonize: $3
  num-threads: $1
  so-reuseport: $2
  access-control: 0.0.0.0/0 allow
  access-control: ::/0 allow
  local-zone: \"test.\" static
  local-data: \"long.test. TXT $(head -c 200 /dev/zero | tr '\0' x)\"
  local-data: \"long.test. TXT $(head -c 250 /dev/zero | tr '\0' y)\"
remote-control:
  control-enable: no"
	for i in $(seq 100); do echo "  local-data: \"host$i.test. A 192.0.2.$i\""; done |
		sed '1s/^/server:\n/'
}
for i in $(seq 100); do echo "host$i.test A"; done >"$TMP/queries"
dig_it() { pa dig +tries=3 +time=2 +short -p 5353 "@$1" "$2" "$3"; }
perf() { # name: sets ANSWERS to the number of answers
	pa dnsperf -s "$B4" -p 5353 -d "$TMP/queries" -l 1 -c 4 -T 1 -Q 10000 >"$TMP/dnsperf" 2>&1 ||
		fail "$1: dnsperf: status $?"
	ANSWERS=$(sed -n 's/.*Queries completed: *\([0-9]*\).*/\1/p' "$TMP/dnsperf")
	ok "$1: $ANSWERS answers" test "${ANSWERS:-0}" -ge 1000
	same "$1: none lost" 0 "$(sed -n 's/.*Queries lost: *\([0-9]*\).*/\1/p' "$TMP/dnsperf")"
	ok "$1: all NOERROR" file_has "$TMP/dnsperf" "NOERROR $ANSWERS (100.00%)"
}
digs() { # name
	differ "$1-dig4" dig_it "$B4" host7.test A
	differ "$1-dig6" dig_it "$B6" host99.test A
	differ "$1-txt" dig_it "$B4" long.test TXT
	differ "$1-none" pa dig +tries=3 +time=2 +noall +comments +nocookie +qid=7 -p 5353 "@$B4" nosuch.test A
}
# The default rules keep port 53 with the kernel, so it is 5353 here.
round() { # name, threads, so-reuseport
	conf "$2" "$3" no >"$TMP/unbound.conf"
	bg pb unbound -d -c "$TMP/unbound.conf" >"$TMP/unbound.log" 2>&1
	local server=$BG
	wait_server "$server" 5353
	digs "$1"
	offload_begin
	perf "$1"
	offload_end "${ANSWERS:-0}"
	[ "$FAILED" = 0 ] || tail -n 5 "$TMP/unbound.log" "$TMP/dnsperf"
	stop "$server"
}
# A daemon that forks after it has bound: its child serves, through the kernel.
daemon() {
	conf 2 yes yes >"$TMP/unbound.conf"
	pb unbound -c "$TMP/unbound.conf" >"$TMP/unbound.log" 2>&1
	ok "daemon: starts" test $? = 0
	wait_until 5 test -s "$TMP/unbound.pid" || fail "daemon: no PID"
	local server
	server=$(cat "$TMP/unbound.pid")
	digs daemon
	perf daemon
	kill "$server"
	wait_until 10 gone "$server" || fail "daemon: does not end"
	rm -f "$TMP/unbound.pid"
}
for MODE in $MODES; do
	round one 1 no
	round two 2 no
	round reuseport 2 yes
	daemon
done
grep -q 192.0.2.7 "$TMP/oracle.one-dig4" || fail "the oracle has no address"
done_testing
