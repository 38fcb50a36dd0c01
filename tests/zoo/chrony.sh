#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# chronyd as a server: kernel time stamps, connected and unconnected sockets, recvmmsg.
. "$(dirname "$0")/lib.sh"
need chronyd chronyc
net_up
mkdir "$TMP/c"
printf 'port 1123\nbindaddress %s\nallow all\nlocal stratum 5\ncmdport 0\nbindcmdaddress /\npidfile %s/pid\ndriftfile %s/drift\n' "$B4" "$TMP/c" "$TMP/c" >"$TMP/conf"
server() { bg pb chronyd -d -x -u root -f "$TMP/conf"; }
talk() {
	printf 'server %s port 1123 iburst maxsamples 4\npidfile %s/q.pid\ndriftfile %s/q.drift\ncmdport 0\nbindcmdaddress /\nport 0\n' "$B4" "$TMP/c" "$TMP/c" >"$TMP/q.conf"
	chronyd -Q -x -t 20 -u root -f "$TMP/q.conf" 2>&1 | grep -o 'System clock wrong by\|No suitable source'
}
zoo chrony 1123 udp
done_testing
