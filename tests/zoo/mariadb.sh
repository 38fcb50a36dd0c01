#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# mariadb: a thread for each connection; large results both ways, several clients, a killed query.
. "$(dirname "$0")/lib.sh"
need mariadbd mariadb mariadb-install-db
net_up
mkdir "$TMP/db"
mariadb-install-db --no-defaults --user=root --datadir="$TMP/db" --auth-root-authentication-method=normal >"$TMP/install" 2>&1 ||
	{ tail -n 5 "$TMP/install"; skip "mariadb-install-db fails"; }
server() {
	bg pb mariadbd --no-defaults --user=root --datadir="$TMP/db" --bind-address="$B4" --port=3306 --socket="$TMP/db.sock" \
		--skip-grant-tables --skip-log-bin --max-allowed-packet=64M
}
talk() {
	local q=(mariadb --no-defaults -h "$B4" -P "$PORT" -u root -N -B --max-allowed-packet=64M)
	"${q[@]}" -e 'select 1'
	"${q[@]}" -e "select repeat('x', 3000000)" | md5sum
	"${q[@]}" -e 'create or replace database z; create table z.t (i int, s text)'
	{ echo 'insert into z.t values '; seq -f '(%g, "value %g"),' 20000; echo '(0, "end");'; } | "${q[@]}"
	"${q[@]}" -e 'select count(*), sum(i), max(s) from z.t'
	"${q[@]}" -e 'select * from z.t order by i' | md5sum
	seq 20 | xargs -P 6 -I{} "${q[@]}" -e 'select {} * 2' | sort -n | xargs
	"${q[@]}" -e 'select sleep(20)' 2>&1 &
	sleep 0.3
	"${q[@]}" -e "select concat('kill query ', id, ';') from information_schema.processlist where info like 'select sleep%' and command = 'Query'" |
		grep kill | "${q[@]}"
	wait
}
zoo mariadb 3306
done_testing
