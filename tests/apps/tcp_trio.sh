#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# nginx with two workers, PostgreSQL and redis at the same time on one device with one queue, as a user without
# privileges, by the daemon: wrk, pgbench and three preloaded redis-benchmarks load them together. Nothing may
# fail. The test prints their rates; with FOR=seconds these are worth comparing.
LEASED=1
MODES=${MODES:-kernel server}
. "$(dirname "$0")/lib_tcp.sh"
PG=$(find /usr/lib/postgresql/*/bin -name postgres 2>/dev/null | sort -V | tail -n 1)
PG=${PG%/postgres}
[ -x "$PG/initdb" ] && [ -x "$PG/pgbench" ] || skip "PostgreSQL is not here"
need setpriv psql nginx wrk redis-server redis-benchmark
FOR=${FOR:-2}
net_up
export PATH=$PG:$PATH PGUSER=nobody PGDATABASE=postgres PGCONNECT_TIMEOUT=20 HOME=$TMP
NOBODY=(setpriv --reuid=65534 --regid=65534 --clear-groups)
install -d -o 65534 "$TMP/pg" "$TMP/www"
(cd / && "${NOBODY[@]}" initdb -U nobody -A trust -N -D "$TMP/pg/data" >"$TMP/initdb" 2>&1) ||
	{ tail -n 5 "$TMP/initdb"; skip "initdb fails"; }
printf 'host all all %s trust\n' "$NET4.0/24" >>"$TMP/pg/data/pg_hba.conf"
head -c 1000 /dev/urandom | base64 >"$TMP/www/small"
nginx_conf 2 <<-END
	server { listen $B4:8080; listen $B4:8081 reuseport; root $TMP/www; keepalive_requests 1000000; }
END
sed -i '/^user/d' "$TMP/nginx.conf"
start() { # PORT NAME CMD.. ; the pid is in NAME
	local port=$1 name=$2 pre=()
	shift 2
	[ "$MODE" != kernel ] || pre=("${NOBODY[@]}")
	bg pb "${pre[@]}" "$@" >"$(said "$name")" 2>&1
	printf -v "$name" %s "$BG"
	bound b 30 tcp "$port" || { fail "$name does not listen"; tail -n 5 "$(said "$name")"; }
}
# Counts the lanes of b's daemon: each process of a group has one.
lanes() { SLUICE_DAEMON=$TMP/sluiced.b "$TOOL" daemon ports | awk -v d="$DEV_B" '$1 == d { print $6 }'; }
# Loads. The test judges their output when they have ended, since some run at the same time.
declare -A ENDED
http() { # NAME PORT
	a timeout $((FOR + 60)) wrk -t 1 -c 8 -d "$FOR" "http://$B4:$2/small" >"$(said "$1")" 2>&1
}
http_went() { # NAME STATUS
	same "$1: wrk's status" 0 "$2"
	same "$1: what failed" "" "$(grep -e 'Socket errors' -e 'Non-2xx' "$(said "$1")")"
}
redis() { # NAME
	local who=a
	[ "$MODE" = kernel ] || who=sa
	$who timeout $((FOR + 60)) redis-benchmark -h "$B4" -p 6379 -t get,set -c 4 -n $((FOR * 4000)) --csv >"$(said "$1")" 2>&1
}
redis_went() { # NAME STATUS
	same "$1: status" 0 "$2"
	same "$1: both were measured" 2 "$(grep -cE '^"(SET|GET)"' "$(said "$1")")"
}
sql() { # NAME OPTIONS
	local name=$1
	shift
	a timeout $((FOR + 60)) pgbench -n -h "$B4" -S -T "$FOR" "$@" postgres >"$(said "$name")" 2>&1
}
sql_went() { # NAME STATUS
	same "$1: pgbench's status" 0 "$2"
	ok "$1: none failed" grep -q 'failed transactions: 0 ' "$(said "$1")"
}
# Asks redis how many commands and error replies it has had, by the kernel's sockets.
commands() {
	a redis-cli -h "$B4" info all 2>/dev/null | tr -d '\r' |
		sed -n 's/^total_commands_processed://p; s/^total_error_replies://p' | xargs
}
# Every client loads it from beginning to end: one that ended early would leave its share to the others.
together() {
	local -A job
	local name who=a
	[ "$MODE" = kernel ] || who=sa
	for name in redis1 redis2 redis3; do
		bg $who redis-benchmark -h "$B4" -p 6379 -t get,set -c 4 -n 1000000 -l -q >"$(said $name)" 2>&1
		job[$name]=$BG
	done
	http nginx 8080 & job[nginx]=$!
	sql pgbench -c 4 & job[pgbench]=$!
	sleep 0.5
	COMMANDS=($(commands))
	sleep $((FOR - 1))
	COMMANDS+=($(commands))
	for name in nginx pgbench; do
		wait "${job[$name]}"
		ENDED[$name]=$?
	done
	for name in redis1 redis2 redis3; do
		alive "${job[$name]}" $name
		stop "${job[$name]}"
	done
}
http_rate() { awk -F: '/Requests\/sec/ { print int($2) }' "$(said "$1")"; }
redis_rate() { grep -E '^"(SET|GET)"' "$(said "$1")" | cut -d, -f2 | tr -d '"' | sed 's/\..*//' | xargs; }
sql_rate() { sed -n 's/^tps = \([0-9]*\).*/\1/p' "$(said "$1")"; }
for MODE in $MODES; do
	start 8081 nginx nginx -p "$TMP" -c "$TMP/nginx.conf"
	start 5432 postgres "$PG/postgres" -D "$TMP/pg/data" -h "$B4" -k "$TMP/pg" -F
	start 6379 redis redis-server --port 6379 --bind "$B4" --protected-mode no --save '' --appendonly no \
		--daemonize no --dir "$TMP"
	wait_until 20 b psql -X -q -h "$TMP/pg" -c 'select 1' >/dev/null 2>&1
	[ "$MODE" != kernel ] || b pgbench -q -i -s 1 -h "$TMP/pg" postgres >/dev/null 2>&1
	segs_begin
	for name in one each; do
		port=8080
		[ $name = one ] || port=8081
		http $name $port
		http_went $name $?
	done
	segs_end nginx 25
	[ "$MODE" = kernel ] || ok "the workers and the others have lanes: $(lanes)" test "$(lanes)" -ge 5
	segs_begin
	sql select -c 4
	sql_went select $?
	segs_end select 30
	sql anew -C -c 2
	sql_went anew $?
	redis single
	redis_went single $?
	together
	http_went nginx "${ENDED[nginx]}"
	sql_went pgbench "${ENDED[pgbench]}"
	same "redis: commands that failed" "${COMMANDS[1]}" "${COMMANDS[3]}"
	ok "redis: commands" test "${COMMANDS[2]}" -gt "$((COMMANDS[0] + 1000))"
	say "    alone: nginx $(http_rate one), reuseport $(http_rate each), pgbench $(sql_rate select)," \
		"-C $(sql_rate anew), redis $(redis_rate single) a second"
	say "    together: nginx $(http_rate nginx), pgbench $(sql_rate pgbench)," \
		"redis $(((COMMANDS[2] - COMMANDS[0]) / (FOR - 1))) a second"
	for p in nginx postgres redis; do alive "${!p}" "$p"; done
	kill -INT "$postgres"
	stop "$nginx" "$redis"
	wait_end "$postgres" 20 || fail "PostgreSQL's status is $?"
done
done_testing
