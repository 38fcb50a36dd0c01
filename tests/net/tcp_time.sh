#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# SO_RCVTIMEO, SO_SNDTIMEO, signals in calls; keepalive and TCP_USER_TIMEOUT when the peer is cut off.
. "$(dirname "$0")/lib_tcp.sh"
net_up
FAMILIES=4 tcp_differ time 20 "$DEV_B"
done_testing
