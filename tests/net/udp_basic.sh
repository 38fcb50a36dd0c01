#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# UDP over IPv4 and IPv6: echo, peek, truncation, scatter, non-blocking, timeouts, dup, shutdown.
. "$(dirname "$0")/lib.sh"
net_up
udp_differ basic 1 20
done_testing
