#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# A small backlog of listen(2): as many connections wait as with the kernel, and the rest comes later.
. "$(dirname "$0")/lib_tcp.sh"
net_up
tcp_differ backlog ""
done_testing
