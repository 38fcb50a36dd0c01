#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Receive time stamps of a stream: SO_TIMESTAMP, _NS, SO_TIMESTAMPING.
. "$(dirname "$0")/lib_tcp.sh"
net_up
tcp_differ stamp ""
done_testing
