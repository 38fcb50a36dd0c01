#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# HTTP: Python's http.server, nginx (one process, and workers) with curl and wrk: files of several sizes
# are whole, many connections at once, kept open and not.
. "$(dirname "$0")/lib_tcp.sh"
need python3 curl
net_up
mkdir "$TMP/www"
for n in 0 1 1000 100000 3000000; do head -c "$n" /dev/urandom >"$TMP/www/$n"; done
# Prints checksums of the files as they come, and curl's output for a missing file, a range, and headers.
fetch() { # address port
	local n
	for n in 0 1 1000 100000 3000000; do
		curl -s --max-time 20 "http://$1:$2/$n" | cmp - "$TMP/www/$n" && echo "$n same"
	done
	curl -s -o /dev/null -w '%{http_code} %{size_download}\n' "http://$1:$2/1000" "http://$1:$2/1" "http://$1:$2/none"
	curl -s --max-time 20 -o /dev/null -o /dev/null -o /dev/null -w '%{http_code} %{num_connects}\n' \
		-I "http://$1:$2/1000" "http://$1:$2/1" "http://$1:$2/1000"
	seq 20 | xargs -P 8 -I{} curl -s --max-time 20 -o /dev/null -w '%{http_code}\n' "http://$1:$2/100000" | sort | uniq -c
}
export -f fetch
export TMP
# (The client's segments are not checked: one process at a time has a device, so only one of several curls has it.)
answers() { # name address
	local segs
	segs=$(tcp_segs b)
	differ "$1" pa bash -c 'fetch "$@"' - "$2" 8080
	segs=$(($(tcp_segs b) - segs))
	[ "$MODE" = kernel ] && SEGS_OF[$1.b]=$segs
	server_is_ours && ok "$1: b's kernel saw $segs segments, alone ${SEGS_OF[$1.b]}" \
		test $((segs * 100)) -le "${SEGS_OF[$1.b]}"
	return 0
}
load() { # name wrk's options: some requests, all answered
	local name=$1 out
	shift
	out=$(said "$name")
	pa timeout 30 wrk -d 1s "$@" >"$out" 2>&1 || fail "$name: wrk's status is $?"
	ok "$name: requests were answered" grep -q 'requests in' "$out"
	ok "$name: all of them well" not grep -E 'Non-2xx|Socket errors' "$out"
	say "    $name: $(sed -n 's/^Requests.sec: *//p' "$out") a second"
}
for MODE in $MODES; do
	serve 8080 python3 -m http.server --bind "$B4" --directory "$TMP/www" 8080 && answers python "$B4"
	stop "$SERVER"
	if command -v nginx >/dev/null; then
		nginx_conf 0 <<-END
			tcp_nopush on;
			keepalive_requests 1000000;
			server { listen $B4:8080; listen [$B6]:8080; root $TMP/www; }
		END
		serve 8080 nginx -p "$TMP" -c "$TMP/nginx.conf" && {
			answers nginx4 "$B4"
			answers nginx6 "[$B6]"
			if command -v wrk >/dev/null; then
				load one -c 1 -t 1 "http://$B4:8080/1000"
				load many -c 30 -t 2 "http://$B4:8080/1000"
				load large -c 4 -t 1 "http://$B4:8080/100000"
				load short -c 8 -t 1 -H 'Connection: close' "http://$B4:8080/1"
			else
				say "wrk is not here"
			fi
			alive "$SERVER"
		}
		stop "$SERVER"
	else
		say "nginx is not here"
	fi
done
done_testing
