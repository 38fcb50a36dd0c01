#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# A program owns a device without the daemon. Another user passes it a socket whose claim would take packets that the
# kernel gives to a third user's socket: that socket gets them all the same, whether it was there before or comes later.
. "$(dirname "$0")/lib_tcp.sh"
need python3 bpftool
need_built
net_up
MODE=one
meet
FOREIGN=198.51.100.7
a ip route add $FOREIGN via "$B4"
b sysctl -qw net.ipv4.ip_forward=1
bg b timeout 170 python3 "$TESTS/net/passed_on.py" users "$TMP/door" "$DEV_B" "/run/netns/${NS}a" "$B4" "$A4" $FOREIGN >"$TMP/users" 2>&1
users=$BG
wait_line "$TMP/users" here
bg pb timeout 170 python3 "$TESTS/net/passed_on.py" owner "$TMP/door" >"$TMP/owner" 2>&1
wait_end "$users" 170
same "no packet was taken from another user" 0 $?
while read -r line; do
	case $line in
	ok:*) pass "${line#ok: }" ;;
	FAILED:*) fail "${line#FAILED: }" ;;
	*) [ "$line" = here ] || say "$line" ;;
	esac
done <"$TMP/users"
tail -n 5 "$TMP/owner"
done_testing
