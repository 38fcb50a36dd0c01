#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# SO_REUSEADDR and SO_REUSEPORT: which socket gets which datagram, EADDRINUSE.
. "$(dirname "$0")/lib.sh"
net_up
udp_differ reuse 64 '' 64
done_testing
