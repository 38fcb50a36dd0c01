#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# SO_MAX_PACING_RATE: bulk goes at the rate that was asked for, whatever the machine could do.
. "$(dirname "$0")/lib_tcp.sh"
export TCP_TEST_SECONDS=50
net_up
tcp_differ pacing ""
done_testing
