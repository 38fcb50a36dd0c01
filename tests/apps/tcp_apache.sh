#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Apache httpd by the daemon, as a user without privileges: mpm_prefork, whose processes block in accept() with one
# Listen and poll with two, and mpm_event, whose listener threads poll. Files and CGI, lasting and new connections,
# a graceful restart under load. Workers that poll have a part of the new connections on their lanes; workers that
# block take over connections that last.
LEASED=1
MODES=${MODES:-kernel server}
. "$(dirname "$0")/lib_tcp.sh"
need apache2 setpriv ab curl
MODULES=/usr/lib/apache2/modules
[ -e $MODULES/mod_mpm_prefork.so ] && [ -e $MODULES/mod_mpm_event.so ] || skip "Apache's modules are not here"
net_up
export TMP
mkdir "$TMP/www" "$TMP/www/cgi"
for n in 1 1000 100000 4000000; do head -c "$n" /dev/urandom >"$TMP/www/$n"; done
printf '#!/bin/sh\nprintf "Content-Type: text/plain\\r\\n\\r\\n%%s" "$QUERY_STRING"\n' >"$TMP/www/cgi/say"
chmod 755 "$TMP/www/cgi/say"
conf() { # mpm, listening addresses...
	local mpm=$1 to
	shift
	{
		cat <<-END
		ServerRoot $TMP
		ServerName test
		PidFile $TMP/httpd.$mpm.$MODE.$#
		ErrorLog $TMP/httpd.err
		DefaultRuntimeDir $TMP
		LoadModule mpm_${mpm}_module $MODULES/mod_mpm_$mpm.so
		LoadModule authz_core_module $MODULES/mod_authz_core.so
		LoadModule alias_module $MODULES/mod_alias.so
		LoadModule cgi_module $MODULES/mod_cgi.so
		ScriptAlias /cgi $TMP/www/cgi
		DocumentRoot $TMP/www
		KeepAlive On
		MaxKeepAliveRequests 0
		StartServers 2
		MaxRequestWorkers 8
		ServerLimit 8
		GracefulShutdownTimeout 1
		END
		# Without an idle thread Apache ends connections that it would keep, which ab counts; and on a busy machine
		# threads that have answered are not idle at once: two connections are to find one among eight.
		[ $mpm = prefork ] || printf 'ThreadsPerChild 8\nMaxRequestWorkers 16\nServerLimit 2\n'
		for to; do echo "Listen $to"; done
	} >"$TMP/httpd.conf"
}
files() { # address:port
	local n
	for n in 1 1000 100000 4000000; do
		curl -s --max-time 30 "http://$1/$n" | cmp - "$TMP/www/$n" && echo "$n"
	done
	curl -s --max-time 30 "http://$1/cgi/say?a+word"
	seq 12 | xargs -P 6 -I{} curl -s --max-time 20 -o /dev/null -w '%{http_code}\n' "http://$1/100000" | sort | uniq -c
	curl -s --max-time 20 -o /dev/null -w '%{http_code}\n' "http://$1/none"
}
export -f files
load() { # name, options of ab...: none may fail
	local name=$1 out
	shift
	out=$(said "$name")
	a timeout 60 ab -q -s 20 "$@" >"$out" 2>&1 || { fail "$name: ab's status is $?"; tail -n 3 "$out"; }
	same "$name: what failed" "" "$(grep -e '^Failed requests: *[1-9]' -e 'Non-2xx' "$out")"
}
for MODE in $MODES; do
	meet
	for how in prefork.one prefork.two event.one; do
		mpm=${how%.*} to=("$B4:8080")
		[ ${how#*.} = one ] || to+=("[$B6]:8080")
		conf "$mpm" "${to[@]}"
		pre=()
		[ "$MODE" != kernel ] || pre=(setpriv --reuid=65534 --regid=65534 --clear-groups)
		serve 8080 "${pre[@]}" apache2 -f "$TMP/httpd.conf" -DFOREGROUND || continue
		differ "$how" a bash -c 'files "$@"' - "$B4:8080"
		[ ${#to[@]} = 1 ] || differ "$how.6" a bash -c 'files "$@"' - "[$B6]:8080"
		segs_begin
		load "$how.kept" -k -n 6000 -c 2 "http://$B4:8080/1000"
		segs_end "$how.kept" 25
		load "$how.new" -n 400 -c 4 "http://$B4:8080/1000"
		# (Apache may lose connections by this on the kernel's sockets, too: only the end of ab is checked.)
		a timeout 60 ab -q -r -s 20 -k -n 3000 -c 2 "http://$B4:8080/1000" >"$(said graceful)" 2>&1 &
		job=$!
		kill -USR1 "$SERVER"
		ok "$how: ab ends over a graceful restart" wait "$job"
		differ "$how.again" a bash -c 'files "$@"' - "$B4:8080"
		alive "$SERVER" "$how"
		stop "$SERVER"
	done
done
done_testing
