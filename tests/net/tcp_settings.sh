#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# The settings of TCP do what they say, as the kernel at the other end sees it.
. "$(dirname "$0")/lib_tcp.sh"
need python3
need_built
net_up
MODE=one
serving() { a ss -Hltn "sport = :7000" | grep -q .; }
bg a python3 "$TESTS/net/tcp_settings.py" serve "$A4" 7000
wait_until 20 serving || die "the far end does not start"
meet
# Prints the properties of a connection under the given settings.
ask() {
	SL_ENV=("$@")
	sb python3 "$TESTS/net/tcp_settings.py" ask "$A4" 7000
}
has() { # what, pattern, settings...
	local what=$1 pattern=$2 got
	shift 2
	got=$(ask "$@")
	ok "$what: $got" grep -Eq "$pattern" <<<"$got"
}
has "as the kernel is set" '^ts=1 wscale=([5-9]|1[0-4]) mss=1448 acks=([0-9]|[1-5][0-9]) nodelay=0 cc=(cubic|reno|bbr)$'
b sysctl -qw net.ipv4.tcp_timestamps=0 net.ipv4.tcp_congestion_control=reno
has "as it is set otherwise" '^ts=0 .* mss=1460 .* cc=reno$'
has "TCP_TIMESTAMP_OPTION=enable" '^ts=1 ' SLUICE_TCP_TIMESTAMP_OPTION=enable
b sysctl -qw net.ipv4.tcp_timestamps=1
has "TCP_TIMESTAMP_OPTION=0" '^ts=0 ' SLUICE_TCP_TIMESTAMP_OPTION=0
has "TCP_CC_ALGO=cubic" 'cc=cubic$' SLUICE_TCP_CC_ALGO=cubic
has "TCP_CC_ALGO=bbr" 'cc=bbr$' SLUICE_TCP_CC_ALGO=bbr
has "TCP_CC_ALGO=bbr3" 'cc=bbr3$' SLUICE_TCP_CC_ALGO=bbr3
has "TCP_CC_ALGO=0" 'cc=reno$' SLUICE_TCP_CC_ALGO=0
if b sysctl -qw net.ipv4.tcp_congestion_control=bbr 2>/dev/null; then
	has "as it is set: bbr" 'cc=bbr$'
	b sysctl -qw net.ipv4.tcp_congestion_control=reno
fi
has "WINDOW_SCALING=3" ' wscale=3 ' SLUICE_WINDOW_SCALING=3
has "WINDOW_SCALING=-1" ' wscale=none ' SLUICE_WINDOW_SCALING=-1
has "TCP_NODELAY" ' nodelay=1 ' SLUICE_TCP_NODELAY=1
has "MSS" ' mss=988 ' SLUICE_MSS=1000
has "MTU" ' mss=948 ' SLUICE_MTU=1000
has "TCP_QUICKACK: each segment" ' acks=([6-9][0-9]|1[0-9][0-9]) ' SLUICE_TCP_QUICKACK=1
has "TCP_QUICKACK_THRESHOLD: not the large ones" ' acks=([0-9]|[1-5][0-9]) ' SLUICE_TCP_QUICKACK=1 \
	SLUICE_TCP_QUICKACK_THRESHOLD=99
has "TCP_QUICKACK_THRESHOLD: the small ones" ' acks=([6-9][0-9]|1[0-9][0-9]) ' SLUICE_TCP_QUICKACK=1 \
	SLUICE_TCP_QUICKACK_THRESHOLD=100
has "RX_POLL_ON_TX_TCP" '^ts=1 ' SLUICE_RX_POLL_ON_TX_TCP=1

# SYNs beyond the rate are dropped, and come again.
SL_ENV=(SLUICE_TCP_MAX_SYN_RATE=5)
bg sb python3 "$TESTS/net/tcp_settings.py" serve "$B4" 7001
bound() { b ss -Hltn "sport = :7001" | grep -q .; }
wait_until 20 bound || die "the server does not start"
n=$(a python3 "$TESTS/net/tcp_settings.py" many "$B4" 7001 30)
ok "TCP_MAX_SYN_RATE: $n of 30 at once" test "$n" -ge 1 -a "$n" -le 15
done_testing
