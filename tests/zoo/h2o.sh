#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# h2o: files over HTTP/1.1 and HTTP/2, with two threads.
. "$(dirname "$0")/lib.sh"
need h2o curl h2load
net_up
files 1 1000 100000 3000000
cat >"$TMP/conf" <<-END
	num-threads: 2
	user: root
	listen:
	  host: $B4
	  port: 8088
	hosts:
	  default:
	    paths:
	      /:
	        file.dir: $TMP/www
END
server() { bg pb h2o -m worker -c "$TMP/conf"; }
talk() {
	local n
	for n in 1 1000 100000 3000000; do
		curl -s --max-time 20 "http://$B4:$PORT/$n" | cmp - "$TMP/www/$n" && echo "$n same"
		curl -s --max-time 20 --http2-prior-knowledge "http://$B4:$PORT/$n" | cmp - "$TMP/www/$n" && echo "$n same by HTTP/2"
	done
	timeout 60 h2load -n 400 -c 8 -m 10 "http://$B4:$PORT/1000" | grep -E '^(requests|status codes):' | sed 's/, [0-9]* started.*//'
}
zoo h2o 8088
done_testing
