#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# pgbench -C: a connection to PostgreSQL for each transaction.
. "$(dirname "$0")/lib.sh"
need pgbench setpriv
DIR=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | tail -n 1)
[ -x "$DIR/postgres" ] || skip "PostgreSQL is not here"
net_up
chmod 755 "$TMP"
mkdir "$TMP/run" && chown postgres "$TMP/run"
as=(setpriv --reuid=postgres --regid=postgres --clear-groups)
"${as[@]}" "$DIR/initdb" -D "$TMP/run/db" -A trust -U postgres >/dev/null || die "initdb"
echo "host all all $A4/16 trust" >>"$TMP/run/db/pg_hba.conf"
server() {
	bg pb "${as[@]}" "$DIR/postgres" -D "$TMP/run/db" -h "$B4" -p 5433 -k "$TMP/run" -c fsync=off -c shared_buffers=16MB
}
talk() {
	for _ in $(seq 50); do pgbench -h "$B4" -p "$PORT" -U postgres -i -q postgres >/dev/null 2>&1 && break; sleep 0.2; done
	timeout 60 pgbench -h "$B4" -p "$PORT" -U postgres -C -c 4 -j 2 -t 20 postgres 2>&1 | grep -E 'actually processed|failed'
	timeout 60 pgbench -h "$B4" -p "$PORT" -U postgres -S -M prepared -c 4 -j 2 -t 100 postgres 2>&1 | grep -E 'actually processed|failed'
}
zoo pgbench 5433
done_testing
