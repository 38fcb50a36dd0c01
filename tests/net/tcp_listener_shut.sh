#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# shutdown(2) for reading ends a listener, and resets the peers that wait there.
. "$(dirname "$0")/lib_tcp.sh"
net_up
tcp_differ listener_shut ""
done_testing
