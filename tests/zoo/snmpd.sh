#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# snmpd: a single UDP socket, many questions and one large table.
. "$(dirname "$0")/lib.sh"
need snmpd snmpget snmpbulkwalk
net_up
printf 'rocommunity public\nsysLocation zoo\nsysContact me\nsysName zoo\n' >"$TMP/conf"
mkdir "$TMP/snmp"
server() { bg pb env SNMP_PERSISTENT_DIR="$TMP/snmp" snmpd -f -Lo -C -c "$TMP/conf" -I -smux udp:"$B4:1161"; }
talk() {
	local as=(-v 2c -c public -On -t 2 -r 5 "$B4:$PORT") i
	for i in 1 2 3 4 5; do snmpget "${as[@]}" .1.3.6.1.2.1.1.6.0 .1.3.6.1.2.1.1.4.0; done
	snmpbulkwalk -Cr50 "${as[@]}" .1.3.6.1.2.1.1 | grep -v 'Timeticks\|1.1.5.0' | cut -d= -f1 | md5sum
}
zoo snmpd 1161 udp
done_testing
