#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# stunnel: TLS before a web server, a thread for each connection.
. "$(dirname "$0")/lib.sh"
need stunnel4 curl openssl python3
net_up
files 1 1000 100000 3000000
openssl req -x509 -newkey rsa:2048 -nodes -subj /CN=zoo -days 2 -keyout "$TMP/key" -out "$TMP/cert" 2>/dev/null
cat "$TMP/key" "$TMP/cert" >"$TMP/pem"
web_behind
printf 'foreground = yes\npid =\n[web]\naccept = %s:8443\nconnect = %s:8081\ncert = %s\n' "$B4" "$A4" "$TMP/pem" >"$TMP/conf"
server() { bg pb stunnel4 "$TMP/conf"; }
talk() {
	local n
	for n in 1 1000 100000 3000000; do
		curl -sk --max-time 20 "https://$B4:$PORT/$n" | cmp - "$TMP/www/$n" && echo "$n same"
	done
	seq 12 | xargs -P 4 -I{} curl -sk --max-time 20 -o /dev/null -w '%{http_code}\n' "https://$B4:$PORT/100000" | sort | uniq -c
}
zoo stunnel 8443
done_testing
