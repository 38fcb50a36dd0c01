#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# A connection that is shut down for reading stays so when it goes to the kernel, and when it comes back.
. "$(dirname "$0")/lib_tcp.sh"
net_up
tcp_differ shut ""
done_testing
