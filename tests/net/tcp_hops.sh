#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# IP_MINTTL and IPV6_MINHOPCOUNT (routing daemons set them, RFC 5082): segments and ICMP errors that have come too far are
# dropped, of a connection, of a listener, and of what that has accepted; and the socket stays offloaded.
. "$(dirname "$0")/lib_tcp.sh"
net_up
tcp_differ hops 30
done_testing
