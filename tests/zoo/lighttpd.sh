#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# lighttpd: files by sendfile and writev, ranges, keep-alive.
. "$(dirname "$0")/lib.sh"
need lighttpd curl wrk
net_up
files 0 1 1000 100000 3000000
cat >"$TMP/conf" <<-END
	server.document-root = "$TMP/www"
	server.port = 8080
	server.bind = "$B4"
	server.errorlog = "$TMP/lighttpd.err"
	server.upload-dirs = ( "$TMP" )
END
server() { bg pb lighttpd -D -f "$TMP/conf"; }
talk() {
	local n
	for n in 0 1 1000 100000 3000000; do curl -s --max-time 20 "http://$B4:$PORT/$n" | cmp - "$TMP/www/$n" && echo "$n same"; done
	curl -s --max-time 20 -r 5000-6000 "http://$B4:$PORT/100000" | md5sum
	seq 20 | xargs -P 8 -I{} curl -s --max-time 20 -o /dev/null -w '%{http_code}\n' "http://$B4:$PORT/100000" | sort | uniq -c
	curl -s -o /dev/null -w '%{http_code}\n' "http://$B4:$PORT/none"
}
rate() { wrk -d 1s -c 10 -t 1 "http://$B4:$PORT/1000" | awk '/Requests.sec/ { print $2 }'; }
zoo lighttpd 8080
done_testing
