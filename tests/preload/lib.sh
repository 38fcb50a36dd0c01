#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# For the scripts of this room: runs one of its programs on host b against the peer on host a, over
# IPv4 and IPv6, first on the kernel, then preloaded; what it prints must be the same.
# shellcheck shell=bash
. "$(dirname "${BASH_SOURCE[0]}")/../net/lib.sh"
PBIN=$BUILD/tests/preload

# Not more than the given share (percent, default 20) of the datagrams that the kernel delivered to
# host b in the kernel's run may come through the kernel in the preloaded one: so that it is our
# code which is tested.
preload_test() { # program [percent]
	local percent=${2:-20} before kernel=0 n
	need "$PBIN/$1" "$PBIN/peer"
	net_up
	bg a "$PBIN/peer" "$A4" 7000
	bg a "$PBIN/peer" "$A6" 7000
	wait_until 10 two_peers || die "the peers do not start"
	for MODE in kernel one; do
		before=$(udp_stat b InDatagrams)
		differ "$1-v4" pb timeout 60 "$PBIN/$1" "$A4" 7000 "$B4"
		differ "$1-v6" pb timeout 60 "$PBIN/$1" "$A6" 7000 "$B6"
		n=$(($(udp_stat b InDatagrams) - before))
		if [ $MODE = kernel ]; then
			kernel=$n
		else
			ok "of $kernel datagrams $n came through the kernel" \
				test $((n * 100)) -le $((kernel * percent))
		fi
	done
	done_testing
}
two_peers() { [ "$(a ss -Hanu 'sport = :7000' | wc -l)" = 2 ]; }
