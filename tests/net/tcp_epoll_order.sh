#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# An epoll set tells of its members in the order in which they became ready, and of each edge once.
. "$(dirname "$0")/lib_tcp.sh"
net_up
tcp_differ epoll_order 60
done_testing
