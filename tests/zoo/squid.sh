#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# squid: a proxy by HTTP and by CONNECT.
. "$(dirname "$0")/lib.sh"
need squid curl python3
net_up
files 1 1000 100000 3000000
web_behind
chmod 777 "$TMP"
cat >"$TMP/conf" <<-END
	http_port $B4:3128
	acl all_ports port 1-65535
	http_access allow all
	cache_mem 16 MB
	cache deny all
	access_log none
	cache_log $TMP/cache.log
	pid_filename $TMP/squid.pid
	shutdown_lifetime 1 seconds
	pinger_enable off
	coredump_dir $TMP
	visible_hostname zoo
END
server() { bg pb squid -N -f "$TMP/conf"; }
talk() {
	local n
	for n in 1 1000 100000 3000000; do
		curl -s --max-time 20 -x "http://$B4:$PORT" "http://$A4:8081/$n" | cmp - "$TMP/www/$n" && echo "$n same"
		curl -s --max-time 20 -p -x "http://$B4:$PORT" "http://$A4:8081/$n" | cmp - "$TMP/www/$n" && echo "$n same by CONNECT"
	done
	seq 12 | xargs -P 4 -I{} curl -s --max-time 20 -x "http://$B4:$PORT" -o /dev/null -w '%{http_code}\n' "http://$A4:8081/100000" | sort | uniq -c
}
zoo squid 3128
done_testing
