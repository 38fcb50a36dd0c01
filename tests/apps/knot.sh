#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# knot: recvmmsg and sendmmsg, a thread for each UDP worker, with and without SO_REUSEPORT.
. "$(dirname "$0")/lib.sh"
need knotd dig dnsperf
net_up
{
	echo '$ORIGIN test.'
	echo '@ 3600 SOA ns hostmaster 1 3600 600 86400 300'
	echo '@ 3600 NS ns'
	echo "ns 3600 A $B4"
	for i in $(seq 100); do echo "host$i 3600 A 192.0.2.$i"; done
} >"$TMP/test.zone"
for i in $(seq 100); do echo "host$i.test A"; done >"$TMP/queries"
conf() { # udp-workers reuseport
	cat >"$TMP/knot.conf" <<-END
	server:
	  rundir: "$TMP"
	  listen: [ "$B4@5353", "$B6@5353" ]
	  udp-workers: $1
	  tcp-workers: 1
	  background-workers: 1
	  tcp-reuseport: $2
	database:
	  storage: "$TMP/db"
	log:
	  - target: stderr
	    any: warning
	zone:
	  - domain: test
	    file: "$TMP/test.zone"
	    zonefile-sync: -1
	    journal-content: none
	END
}
answered() { b dig +tries=1 +time=1 +short -p 5353 "@$B4" ns.test A | grep -q .; }
round() { # name, udp-workers, reuseport
	conf "$2" "$3"
	# (With CAP_SETPCAP it gives up rights, and what is offloaded goes on in the kernel.)
	bg pb setpriv --bounding-set=-setpcap knotd -c "$TMP/knot.conf" 2>"$(said "$1")"
	local server=$BG n lost
	wait_server "$server" 5353
	wait_until 10 answered || { fail "$1: the zone is not served"; tail -n 5 "$(said "$1")"; }
	differ "$1-dig4" pa dig +tries=3 +time=2 +short -p 5353 "@$B4" host7.test A
	differ "$1-dig6" pa dig +tries=3 +time=2 +short -p 5353 "@$B6" host99.test A
	offload_begin
	pa dnsperf -s "$B4" -p 5353 -d "$TMP/queries" -l 1 -c 4 -T 1 -Q 5000 >"$TMP/dnsperf" 2>&1
	n=$(sed -n 's/.*Queries completed: *\([0-9]*\).*/\1/p' "$TMP/dnsperf")
	lost=$(sed -n 's/.*Queries lost: *\([0-9]*\).*/\1/p' "$TMP/dnsperf")
	say "    $1: $n answers, $lost lost"
	ok "$1: answers" test "${n:-0}" -ge 500
	same "$1: none lost" 0 "$lost"
	offload_end "${n:-0}"
	stop "$server"
}
for MODE in $MODES; do
	round one 1 off
	round two 2 off
	round two-reuseport 2 on
done
done_testing
