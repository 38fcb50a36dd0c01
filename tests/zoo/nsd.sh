#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# nsd: workers with a socket each, UDP and TCP, a zone of its own.
. "$(dirname "$0")/lib.sh"
need nsd dig dnsperf
net_up
dns_zone
cat >"$TMP/conf" <<-END
	server:
	    server-count: 2
	    ip-address: $B4
	    port: 5353
	    username: ""
	    zonesdir: "$TMP"
	    database: ""
	    pidfile: "$TMP/nsd.pid"
	    xfrdfile: "$TMP/xfrd"
	    zonelistfile: "$TMP/zones"
	    xfrdir: "$TMP"
	    logfile: "$TMP/nsd.log"
	remote-control:
	    control-enable: no
	zone:
	    name: test
	    zonefile: test.zone
END
server() { bg pb nsd -d -c "$TMP/conf"; }
talk() {
	local n
	until dig +tries=1 +time=1 +short -p "$PORT" "@$B4" ns.test A | grep -q .; do sleep 0.1; done
	for n in 1 50 100; do dig +tries=3 +time=2 +short -p "$PORT" "@$B4" "host$n.test" A; done
	dig +tries=3 +time=2 +short +ignore +noedns -p "$PORT" "@$B4" long.test TXT | md5sum
	dig +tcp +tries=3 +time=2 +short -p "$PORT" "@$B4" long.test TXT | md5sum
	dig +tcp +tries=3 +time=2 +short -p "$PORT" "@$B4" test AXFR | wc -l
	dnsperf -s "$B4" -p "$PORT" -d "$TMP/queries" -l 1 -c 4 -T 1 -Q 3000 | grep -E 'lost' | tr -s ' '
}
rate() { dnsperf -s "$B4" -p "$PORT" -d "$TMP/queries" -l 1 -c 4 -T 1 | sed -n 's/.*Queries per second: *//p'; }
zoo nsd 5353
done_testing
