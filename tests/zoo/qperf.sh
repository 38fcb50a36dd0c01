#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# qperf: its own protocol of control connections, TCP and UDP tests.
. "$(dirname "$0")/lib.sh"
need qperf
net_up
server() { bg pb qperf -lp 19765; }
talk() { qperf -lp "$PORT" -t 1 "$B4" tcp_bw tcp_lat udp_lat udp_bw | grep -E '^[a-z_]+:|=' | sed 's/=.*//' | tr -d ' '; }
zoo qperf 19765
done_testing
