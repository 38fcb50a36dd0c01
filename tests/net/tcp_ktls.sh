#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# The kernel's TLS (TCP_ULP "tls") on a connection of ours: it is handed back first, and goes on.
. "$(dirname "$0")/lib_tcp.sh"
net_up
grep -qw tls /proc/sys/net/ipv4/tcp_available_ulp 2>/dev/null || skip "this kernel has no TLS"
tcp_differ ktls ""
done_testing
