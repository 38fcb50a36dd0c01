#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# PostgreSQL: a child forked for each connection; psql, COPY both ways, and pgbench with several clients,
# connections kept and made anew. By the daemon (tcp_postgres_leased.sh) the children take theirs over.
. "$(dirname "$0")/lib_tcp.sh"
PG=$(find /usr/lib/postgresql/*/bin -name postgres 2>/dev/null | sort -V | tail -n 1)
PG=${PG%/postgres}
[ -x "$PG/initdb" ] && [ -x "$PG/pgbench" ] && id postgres >/dev/null 2>&1 || skip "PostgreSQL is not here"
need setpriv psql
net_up
export PATH=$PG:$PATH PGUSER=postgres PGDATABASE=postgres PGCONNECT_TIMEOUT=20 HOME=$TMP
WHO=postgres
[ -z "${LEASED:-}" ] || WHO=nobody
install -d -o $WHO "$TMP/pg"
(cd / && setpriv --reuid=$WHO --regid="$(id -g $WHO)" --clear-groups initdb -U postgres -A trust -N -D "$TMP/pg/data" >"$TMP/initdb" 2>&1) ||
	{ tail -n 5 "$TMP/initdb"; skip "initdb fails"; }
printf 'host all all %s trust\n' "$NET4.0/24" "$NET6::/64" >>"$TMP/pg/data/pg_hba.conf"
words() { # address
	local q=(psql -X -q -A -t -h "$1")
	"${q[@]}" -c 'select count(*) from generate_series(1, 100000)'
	"${q[@]}" -c "select md5(string_agg(i::text, ',')) from generate_series(1, 200000) i"
	"${q[@]}" -c "select repeat('x', 3000000)" | md5sum
	"${q[@]}" -c 'drop table if exists t; create table t (i int, s text)'
	seq 50000 | sed 's/.*/&\tvalue &/' | "${q[@]}" -c 'copy t from stdin'
	"${q[@]}" -c 'select count(*), sum(i), max(s) from t'
	"${q[@]}" -c 'copy (select * from t order by i) to stdout' | md5sum
	"${q[@]}" -c "select pg_sleep(10)" >"$TMP/sleeper" 2>&1 &
	until [ "$("${q[@]}" -c "select count(pg_cancel_backend(pid)) from pg_stat_activity
		where query like 'select pg_sleep%'")" = 1 ]; do sleep 0.05; done
	wait
	cat "$TMP/sleeper"
	"${q[@]}" -c 'select nonsense' 2>&1
	seq 12 | xargs -P 6 -I{} "${q[@]}" -c 'select {} * 2' | sort -n | xargs
}
export -f words
export TMP
# (postgres refuses to run as root, so it runs as a user with the capabilities that Sluice needs.)
AS_USER=(setpriv --reuid=postgres --regid=postgres --clear-groups
	--inh-caps=-all,+net_admin,+net_raw,+bpf,+perfmon,+ipc_lock
	--ambient-caps=-all,+net_admin,+net_raw,+bpf,+perfmon,+ipc_lock)
NOBODY=(setpriv --reuid=65534 --regid=65534 --clear-groups)
bench() { # name options; of a name with a percentage no more may go by b's kernel, where children have lanes
	local name=${1%:*} percent=${1#"${1%:*}"} out
	shift
	segs_begin
	out=$(said "$name")
	pa timeout 60 pgbench -n -h "$B4" "$@" postgres >"$out" 2>&1 || fail "$name: pgbench's status is $?"
	ok "$name: none failed" grep -q 'failed transactions: 0 ' "$out"
	[ -z "${LEASED:-}" ] || [ -z "$percent" ] || segs_end "$name" "${percent#:}"
	say "    $name: $(sed -n 's/^tps = \([0-9]*\).*/\1/p' "$out") a second, latency $(sed -n 's/^latency average = //p' "$out")"
}
for MODE in $MODES; do
	if [ -n "${LEASED:-}" ]; then AS_USER=(); [ "$MODE" != kernel ] || AS_USER=("${NOBODY[@]}"); fi
	serve 5432 "${AS_USER[@]}" "$PG/postgres" -D "$TMP/pg/data" -h "$B4,$B6" -k "$TMP/pg" -F || continue
	wait_until 20 b psql -X -q -h "$TMP/pg" -c 'select 1' >/dev/null 2>&1
	segs=$(tcp_segs b)
	differ psql4 pa bash -c 'words "$@"' - "$B4"
	[ "$MODE" != kernel ] || b pgbench -q -i -s 1 -h "$TMP/pg" postgres >/dev/null 2>&1
	bench select:25 -S -c 1 -t 3000
	bench many:25 -S -c 4 -j 2 -t 3000
	bench anew -S -C -c 4 -T 1
	say "    b's kernel saw $(($(tcp_segs b) - segs)) segments"
	alive "$SERVER"
	kill -INT "$SERVER"
	wait_end "$SERVER" 20 || fail "the server's status is $?"
done
done_testing
