#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# The steering program's record inside the frame, as with drivers that carry no XDP metadata: UDP with and without time
# stamps, datagrams of the largest size, TCP. The program receives the same as with metadata.
. "$(dirname "$0")/lib_tcp.sh"
export SLUICE_XDP_METADATA=0
[ "$MODES" = kernel ] || MODES="kernel both"
net_up
udp_differ mtu 1 ''
udp_differ stamp 1 20
FAMILIES=4 tcp_differ stream 10 "$B4" "$A4"
FAMILIES=6 tcp_differ stamp ""
done_testing
