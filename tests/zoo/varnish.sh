#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# varnish: a cache in several processes before a web server, with threads that wait in accept().
. "$(dirname "$0")/lib.sh"
need varnishd curl python3
net_up
mkdir "$TMP/v"
files 1 1000 100000 3000000
web_behind
server() {
	rm -rf "$TMP/v/"*
	bg pb varnishd -F -j none -n "$TMP/v" -a "$B4:8080" -b "$A4:8081" -s malloc,64m -T none
}
talk() {
	local n
	until curl -s --max-time 20 -o /dev/null "http://$B4:$PORT/1"; do sleep 0.1; done
	for n in 1 1000 100000 3000000 1000 100000; do
		curl -s --max-time 20 "http://$B4:$PORT/$n" | cmp - "$TMP/www/$n" && echo "$n same"
	done
	seq 20 | xargs -P 8 -I{} curl -s --max-time 20 -o /dev/null -w '%{http_code}\n' "http://$B4:$PORT/100000" | sort | uniq -c
	curl -s -o /dev/null -w '%{http_code}\n' "http://$B4:$PORT/none"
}
zoo varnish 8080
done_testing
