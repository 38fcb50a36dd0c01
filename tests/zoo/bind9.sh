#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# bind9's named: libuv, a thread for each core with sockets of its own, UDP and TCP.
. "$(dirname "$0")/lib.sh"
need named dig dnsperf
net_up
dns_zone
cat >"$TMP/conf" <<-END
	options {
		directory "$TMP"; pid-file "$TMP/named.pid"; session-keyfile "$TMP/key";
		listen-on port 5353 { $B4; }; listen-on-v6 { none; };
		recursion no; allow-transfer { any; }; notify no; dnssec-validation no;
		minimal-responses yes; rate-limit { responses-per-second 0; };
	};
	controls { };
	zone "test" { type primary; file "test.zone"; };
END
server() { bg pb named -g -c "$TMP/conf"; }
talk() {
	local n
	until dig +tries=1 +time=1 +short -p "$PORT" "@$B4" ns.test A | grep -q .; do sleep 0.1; done
	for n in 1 50 100; do dig +tries=3 +time=2 +short -p "$PORT" "@$B4" "host$n.test" A; done
	dig +tcp +tries=3 +time=2 +short -p "$PORT" "@$B4" long.test TXT | md5sum
	dig +tcp +tries=3 +time=2 +short -p "$PORT" "@$B4" test AXFR | wc -l
	dnsperf -s "$B4" -p "$PORT" -d "$TMP/queries" -l 1 -c 4 -T 1 -Q 3000 | grep -E 'lost' | tr -s ' '
	dnsperf -m tcp -s "$B4" -p "$PORT" -d "$TMP/queries" -l 1 -c 4 -T 1 -Q 2000 | grep -E 'lost' | tr -s ' '
}
rate() { dnsperf -s "$B4" -p "$PORT" -d "$TMP/queries" -l 1 -c 4 -T 1 | sed -n 's/.*Queries per second: *//p'; }
zoo bind9 5353
done_testing
