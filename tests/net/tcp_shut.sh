#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# What is shut down for reading stays so when the kernel gets it, and when it comes back.
. "$(dirname "$0")/lib_tcp.sh"
net_up
tcp_differ shut ""
done_testing
