#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# A socket connects again, and a port is used again that is in TIME_WAIT.
. "$(dirname "$0")/lib_tcp.sh"
net_up
tcp_differ again ""
done_testing
