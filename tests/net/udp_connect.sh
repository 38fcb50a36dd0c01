#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# connect: filter, reconnect, disconnect, source address, ECONNREFUSED, the error queue.
. "$(dirname "$0")/lib.sh"
net_up
udp_differ connect 2 ''
done_testing
