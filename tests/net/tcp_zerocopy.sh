#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# MSG_ZEROCOPY: numbers, completions on the error queue, readiness; also across a hand-back.
. "$(dirname "$0")/lib_tcp.sh"
net_up
tcp_differ zerocopy ""
done_testing
