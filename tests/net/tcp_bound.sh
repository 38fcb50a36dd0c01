#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# bind(2) to a port on which connections are, or TIME_WAITs, whose listener is closed: with SO_REUSEADDR and without.
. "$(dirname "$0")/lib_tcp.sh"
net_up
tcp_differ bound ''
done_testing
