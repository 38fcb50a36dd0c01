#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# haproxy -W under load and reloaded: the new worker takes the listeners over from the old one, by a Unix socket (-x).
. "$(dirname "$0")/lib.sh"
need haproxy curl python3
net_up
files 1000 100000
cat >"$TMP/conf" <<-END
	global
	    stats socket $TMP/stats.sock level admin expose-fd listeners
	    maxconn 500
	    hard-stop-after 5s
	defaults
	    mode http
	    timeout connect 2s
	    timeout client 10s
	    timeout server 10s
	frontend web
	    bind $B4:8080
	    bind $B4:8090-8093
	    default_backend servers
	backend servers
	    server live $A4:8081
END
cat >"$TMP/load.py" <<'P'
# Asks on a new connection each time, on several ports, until SIGINT; prints each answer that came.
import http.client, signal, sys, threading
stop = threading.Event()
signal.signal(signal.SIGINT, lambda *_: stop.set())
seen = set()
def load(port):
	while not stop.is_set():
		try:
			c = http.client.HTTPConnection(sys.argv[1], int(port), timeout=20)
			c.request("GET", "/1000")
			r = c.getresponse()
			seen.add((port, r.status, len(r.read())))
			c.close()
		except Exception as e:
			seen.add((port, repr(e)))
threads = [threading.Thread(target=load, args=(p,)) for p in sys.argv[2:]]
[t.start() for t in threads]
[t.join() for t in threads]
print(*sorted(seen), sep="\n")
P
web_behind
server() { bg pb haproxy -W -f "$TMP/conf" -p "$TMP/pid" -x "$TMP/stats.sock"; }
talk() {
	local i
	python3 "$TMP/load.py" "$B4" "$PORT" 8090 8093 >"$TMP/load" &
	for i in 1 2 3; do
		sleep 0.4
		kill -USR2 "$(head -n 1 "$TMP/pid")"
	done
	sleep 0.4
	kill -INT $!
	wait
	cat "$TMP/load"
	curl -s --max-time 20 "http://$B4:8091/100000" | cmp - "$TMP/www/100000" && echo same
}
zoo haproxy_reload 8080
done_testing
