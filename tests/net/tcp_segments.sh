#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Scripts of segments against a real process over the veth: the peer is a program that speaks TCP by raw
# frames from an address that no kernel has. The kernel must pass each script first.
. "$(dirname "$0")/lib_tcp.sh"
need python3
net_up -t
b sysctl -qw net.ipv4.tcp_fastopen=3
b sysctl -qw "net.ipv4.neigh.$DEV_B.locktime=0"
scripts() { # script...
	differ "segments$fam${1:+, $1}" a python3 "$TESTS/net/tcp_segments.py" "$DEV_A" "${!ghost}" $GHOST_MAC \
		"${!own}" "$MAC_B" "$TMP/far.$FAR_N" "$@"
}
for MODE in $(modes_alone); do
	for fam in ${FAMILIES:-4 6}; do
		own=B$fam ghost=G$fam
		paths_forgotten # (one mode was told some)
		far_up pb # (a process of its own, which knows nothing of the others' paths)
		ghosts_are permanent
		segs_begin
		scripts "$@"
		ghosts_are reachable
		paths_forgotten # (icmp_small_mtu's)
		[ $# -gt 0 ] || { stop "$far" && far_up pb && scripts advertised_learned; }
		segs_end "segments$fam" 10
		stop "$far"
	done
done
done_testing
