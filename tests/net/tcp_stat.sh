#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# What `sluice stat` says of TCP: counts as the kernel's SNMP counters, connections as ss -ti.
. "$(dirname "$0")/lib_tcp.sh"
export TOOL=$BUILD/sluice
need_built
need ss
net_up
b sysctl -qw net.ipv4.tcp_congestion_control=reno
export SLUICE_STATS_SHMEM_DIR=$TMP SLUICE_LATENCY_STATS=1 DEVICE=$DEV_B TCP_TEST_SECONDS=50
tcp_differ stat ""
done_testing
