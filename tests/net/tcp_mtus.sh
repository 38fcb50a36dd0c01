#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# The MTU of both devices, and that of a route, changes while a connection carries bytes both ways: it goes on with segments
# of the new size. (With one device alone lowered a veth drops what its peer sends at the old size, by the kernel, too, where
# the peer does not leave large packets whole: sluice-nics(7).)
. "$(dirname "$0")/lib_tcp.sh"
net_up
export MTU_NS=$NS MTU_A=$DEV_A MTU_B=$DEV_B
tcp_differ mtus 20
done_testing
