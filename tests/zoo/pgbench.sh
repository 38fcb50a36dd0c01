#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# pgbench -C: a connection to PostgreSQL for each transaction.
. "$(dirname "$0")/lib.sh"
need pgbench setpriv
postgres_made
server() {
	bg pb "${POSTGRES[@]}" -h "$B4"
}
talk() {
	for _ in $(seq 50); do pgbench -h "$B4" -p "$PORT" -U postgres -i -q postgres >/dev/null 2>&1 && break; sleep 0.2; done
	timeout 60 pgbench -h "$B4" -p "$PORT" -U postgres -C -c 4 -j 2 -t 20 postgres 2>&1 | grep -E 'actually processed|failed'
	timeout 60 pgbench -h "$B4" -p "$PORT" -U postgres -S -M prepared -c 4 -j 2 -t 100 postgres 2>&1 | grep -E 'actually processed|failed'
}
zoo pgbench 5433
done_testing
