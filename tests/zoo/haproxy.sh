#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# haproxy before two backends, one of them dead: splice, a reload while clients are served, health checks.
. "$(dirname "$0")/lib.sh"
need haproxy curl python3 wrk
net_up
files 1 1000 100000 3000000
cat >"$TMP/conf" <<-END
	global
	    stats socket $TMP/stats.sock level admin expose-fd listeners
	    maxconn 500
	defaults
	    mode http
	    timeout connect 2s
	    timeout client 10s
	    timeout server 10s
	    option splice-auto
	    retries 3
	    option redispatch
	frontend web
	    bind $B4:8080
	    default_backend servers
	backend servers
	    server dead $A4:8099 check inter 200ms
	    server live $A4:8081 check inter 200ms
	listen raw
	    mode tcp
	    bind $B4:8082
	    server live $A4:8081
END
web_behind
server() { bg pb haproxy -W -f "$TMP/conf" -p "$TMP/pid"; }
talk() {
	local n
	for n in 1 1000 100000 3000000; do
		curl -s --max-time 20 "http://$B4:$PORT/$n" | cmp - "$TMP/www/$n" && echo "$n same"
		curl -s --max-time 20 "http://$B4:8082/$n" | cmp - "$TMP/www/$n" && echo "$n same by TCP"
	done
	seq 12 | xargs -P 4 -I{} curl -s --max-time 20 -o /dev/null -w '%{http_code}\n' "http://$B4:$PORT/100000" | sort | uniq -c
	# A reload: the old process serves what it has, the new one what comes.
	curl -s --limit-rate 3M --max-time 20 "http://$B4:$PORT/3000000" | cmp - "$TMP/www/3000000" >"$TMP/slow" &
	sleep 0.2
	kill -USR2 "$(head -n 1 "$TMP/pid")"
	for n in 1 2 3 4 5 6; do curl -s --max-time 20 -o /dev/null -w '%{http_code}\n' "http://$B4:$PORT/1000"; sleep 0.1; done
	wait
	cat "$TMP/slow"
}
zoo haproxy 8080
done_testing
