#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Every call in every state of a TCP socket: results, errors, poll's bits, names, options.
. "$(dirname "$0")/lib_tcp.sh"
net_up
tcp_differ edges 40
done_testing
