#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# pgbouncer before PostgreSQL: a pool of four connections for twenty clients.
. "$(dirname "$0")/lib.sh"
need pgbench psql pgbouncer setpriv
postgres_made
bg a "${POSTGRES[@]}" -h "$A4" >/dev/null 2>&1
wait_tcp a 5433
cat >"$TMP/pgbouncer.ini" <<-END
	[databases]
	postgres = host=$A4 port=5433 user=postgres
	[pgbouncer]
	listen_addr = $B4
	listen_port = 6432
	unix_socket_dir =
	auth_type = any
	pool_mode = transaction
	default_pool_size = 4
	max_client_conn = 100
END
server() {
	# pgbouncer refuses to run as root. By the daemon it is run as nobody already.
	if [ -n "${LEASED:-}" ] && server_is_ours; then
		bg pb pgbouncer "$TMP/pgbouncer.ini"
	else
		bg pb pgbouncer -u nobody "$TMP/pgbouncer.ini"
	fi
}
talk() {
	local to=(-h "$B4" -p "$PORT" -U postgres)
	for _ in $(seq 50); do pgbench "${to[@]}" -i -q postgres >/dev/null 2>&1 && break; sleep 0.2; done
	timeout 60 pgbench "${to[@]}" -C -c 4 -j 2 -t 50 postgres 2>&1 | grep -E 'actually processed|failed|error'
	timeout 60 pgbench "${to[@]}" -S -c 20 -j 2 -t 100 postgres 2>&1 | grep -E 'actually processed|failed|error'
	timeout 20 psql "${to[@]}" -Atc "select repeat('x', 1000), n from generate_series(1, 5000) n" postgres | md5sum
}
zoo pgbouncer 6432
done_testing
