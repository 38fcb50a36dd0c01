#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Rules for clients that name local ports apply to unbound sockets, too: these have a port number as soon as they
# connect.
. "$(dirname "$0")/lib_tcp.sh"
net_up
need python3
need_built
MODE=one
bg a python3 "$TESTS/net/rules_client.py" listen "$A4" 7001
wait_tcp a 7001
meet
mkfifo "$TMP/end"
b sysctl -qw net.ipv4.ip_local_port_range="32768 60999"

by_kernel() { [ -n "$(b ss -Htn state established "dport = :7001")" ]; }
connects() { # lines of the configuration
	printf '%s\n' "$@" >"$TMP/sluice.conf"
	SL_ENV=("SLUICE_CONFIG_FILE=$TMP/sluice.conf")
	rm -f "$TMP/said"
	exec 3<>"$TMP/end"
	bg sb python3 "$TESTS/net/rules_client.py" connect "$A4" 7001 <"$TMP/end" >"$TMP/said" 3>&-
	wait_line "$TMP/said" ready
}
ends() { # waits until the device is free for the next program
	stop "$BG"
	wait_until 10 not has_xdp || fail "the device is not left"
}

connects "# nothing"
ok "no rules: offloaded" not by_kernel
ends
connects "use os tcp_client *:*:*:1-65535"
ok "all local ports are the kernel's" by_kernel
ends
connects "use os tcp_client *:*:$B4:32768-60999"
ok "those of the system's range" by_kernel
ends
connects "use os tcp_client *:*:*:1-1023"
ok "others: offloaded" not by_kernel
ends
connects "use sluice tcp_client *:*:*:32768-60999" "use os tcp_client *:*"
ok "the first match counts: offloaded" not by_kernel
ends
connects "use sluice tcp_client *:*:*:1-1023" "use os tcp_client *:*"
ok "and when it is none" by_kernel
ends
done_testing
