#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# slapd: LDAP over TCP, many entries.
. "$(dirname "$0")/lib.sh"
need slapd ldapsearch ldapadd
net_up
mkdir "$TMP/db"
cat >"$TMP/conf" <<-END
	include /etc/ldap/schema/core.schema
	modulepath /usr/lib/ldap
	moduleload back_mdb
	pidfile $TMP/slapd.pid
	database mdb
	maxsize 100000000
	suffix "dc=zoo"
	rootdn "cn=admin,dc=zoo"
	rootpw secret
	directory $TMP/db
END
server() {
	rm -f "$TMP"/db/*
	bg pb slapd -d 0 -f "$TMP/conf" -h "ldap://$B4:3389/"
}
talk() {
	local as=(-x -H "ldap://$B4:$PORT/" -D cn=admin,dc=zoo -w secret)
	{
		printf 'dn: dc=zoo\nobjectClass: dcObject\nobjectClass: organization\no: zoo\ndc: zoo\n\n'
		for i in $(seq 300); do printf 'dn: cn=p%d,dc=zoo\nobjectClass: person\ncn: p%d\nsn: s%d\n\n' "$i" "$i" "$i"; done
	} | ldapadd "${as[@]}" >/dev/null
	ldapsearch "${as[@]}" -LLL -b dc=zoo '(objectClass=person)' cn sn | md5sum
	seq 12 | xargs -P 4 -I{} ldapsearch "${as[@]}" -LLL -b dc=zoo '(cn=p{})' sn | grep sn: | sort
	ldapsearch -x -H "ldap://$B4:$PORT/" -D cn=admin,dc=zoo -w wrong -b dc=zoo 2>&1 | head -n 1
}
zoo slapd 3389
done_testing
