#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# For the scripts of this room: runs one of its programs on host b, first on the kernel, then
# preloaded; its output must be the same. The peer is on host a (over IPv4, over IPv6, and over IPv4
# with a wildcard address on b), then on host b itself, where nothing can be offloaded. FAMILIES chooses.
# shellcheck shell=bash
. "$(dirname "${BASH_SOURCE[0]}")/../net/lib.sh"
PBIN=$BUILD/tests/preload

# Asserts that in the preloaded run the kernel delivered at most the given share (percent, default 20)
# of the datagrams that it delivered in the kernel's run: so the test has tested our code.
preload_test() { # program [percent]
	local percent=${2:-20} before kernel=0 n
	need "$PBIN/$1" "$PBIN/peer"
	net_up
	bg a "$PBIN/peer" "$A4" 7000
	bg a "$PBIN/peer" "$A6" 7000
	bg b "$PBIN/peer" 127.0.0.1 7001
	wait_udp b 7001
	wait_until 10 two_peers || die "the peers do not start"
	for MODE in kernel one; do
		before=$(udp_stat b InDatagrams)
		if over 4; then
			differ "$1-v4" pb timeout 60 "$PBIN/$1" "$A4" 7000 "$B4"
			differ "$1-any" pb timeout 60 "$PBIN/$1" "$A4" 7000 0.0.0.0
		fi
		! over 6 || differ "$1-v6" pb timeout 60 "$PBIN/$1" "$A6" 7000 "$B6"
		n=$(($(udp_stat b InDatagrams) - before))
		if [ $MODE = kernel ]; then
			kernel=$n
		else
			ok "of $kernel datagrams $n came through the kernel" \
				test $((n * 100)) -le $((kernel * percent))
		fi
		! over 4 || differ "$1-local" pb timeout 60 "$PBIN/$1" 127.0.0.1 7001 127.0.0.1
	done
	done_testing
}
over() { [[ " ${FAMILIES:-4 6} " == *" $1 "* ]]; }
two_peers() { [ "$(a ss -Hanu 'sport = :7000' | wc -l)" = 2 ]; }
