#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Routers' reports of a small MTU, which a station can forge if it knows the numbers in flight: what protects the kernel's
# connections protects ours (net.ipv4.ip_no_pmtu_disc 2, net.ipv4.route.min_pmtu, IPV6_MTU_DISCOVER of the socket).
. "$(dirname "$0")/lib_tcp.sh"
need python3
net_up -t
peer_is_kernels
for MODE in $MODES; do
	for fam in ${FAMILIES:-4 6}; do
		own=B$fam ghost=G$fam
		for script in mtu_deaf mtu_floor; do
			[ $fam$script != 6mtu_floor ] || continue
			b sysctl -qw net.ipv4.ip_no_pmtu_disc=$([ $script = mtu_deaf ] && echo 2 || echo 0)
			b sysctl -qw net.ipv4.route.min_pmtu=$([ $script = mtu_floor ] && echo 1000 || echo 552)
			paths_forgotten
			ghosts_are permanent
			ghost_differ "$script$fam" 10 tcp_segments $script # (a process of its own, which knows nothing of the others' paths)
		done
	done
done
done_testing
