#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# nghttpx before a server of HTTP/1.1: HTTP/2 without TLS, many streams in a connection.
. "$(dirname "$0")/lib.sh"
need nghttpx curl h2load python3
net_up
files 1 1000 100000 3000000
web_behind
server() { bg pb nghttpx -f"$B4,3000;no-tls" -b"$A4,8081" --workers=2 --single-process --accesslog-file=/dev/null --conf=/dev/null; }
talk() {
	local n
	for n in 1 1000 100000 3000000; do
		curl -s --max-time 20 --http2-prior-knowledge "http://$B4:$PORT/$n" | cmp - "$TMP/www/$n" && echo "$n same"
		curl -s --max-time 20 "http://$B4:$PORT/$n" | cmp - "$TMP/www/$n" && echo "$n same by HTTP/1.1"
	done
	timeout 60 h2load -n 400 -c 8 -m 10 "http://$B4:$PORT/1000" | grep -E '^(requests|status codes):' | sed 's/, [0-9]* started.*//'
}
zoo nghttpx 3000
done_testing
