#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# freeradius, and radclient with 20 requests at once.
. "$(dirname "$0")/lib.sh"
need freeradius radclient
[ -z "${LEASED:-}" ] || skip "freeradius reads a configuration that is its user's alone"
net_up
cp -a /etc/freeradius/3.0 "$TMP/conf"
printf 'client a {\n ipaddr = %s/24\n secret = secret\n}\n' "$A4" >>"$TMP/conf/clients.conf"
sed -i '1i bob Cleartext-Password := "hello"' "$TMP/conf/mods-config/files/authorize"
sed -i "s/^\s*\(user\|group\) = freerad/#/; s|^\(confdir\|raddbdir\) = .*|\1 = $TMP/conf|; s|^\(logdir\|run_dir\|db_dir\) = .*|\1 = $TMP|" \
	"$TMP/conf/radiusd.conf"
sed -i "s|security {|security {\n allow_vulnerable_openssl = yes|" "$TMP/conf/radiusd.conf"
rm -f "$TMP/conf/sites-enabled/inner-tunnel" "$TMP/conf/mods-enabled/eap"
sed -i 's/^\s*eap.*{/if (0) {/; s/^\s*-\?eap$//' "$TMP/conf/sites-enabled/default"
chmod -R go-w "$TMP/conf"
server() { bg pb freeradius -f -l stdout -d "$TMP/conf"; }
talk() {
	local to=(-t 3 -r 5)
	for i in hello wrong hello; do
		echo "User-Name=bob,User-Password=$i" | timeout 20 radclient "${to[@]}" "$B4:$PORT" auth secret 2>&1 | grep -oE 'Access-[A-Za-z]*'
	done
	for i in $(seq 400); do printf 'User-Name=bob,User-Password=hello\n\n'; done >"$TMP/requests"
	timeout 60 radclient "${to[@]}" -p 20 -q -s -f "$TMP/requests" "$B4:$PORT" auth secret 2>&1 | grep -E 'Accepted|Lost|Rejected'
	echo "Acct-Session-Id=1,Acct-Status-Type=Start,User-Name=bob" |
		timeout 20 radclient "${to[@]}" "$B4:1813" acct secret 2>&1 | grep -oE 'Accounting-[A-Za-z]*|No reply'
}
zoo freeradius 1812 udp
done_testing
