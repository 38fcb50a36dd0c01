#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Urgent data: the mark, SIOCATMARK, SO_OOBINLINE, POLLPRI, SIGURG.
. "$(dirname "$0")/lib_tcp.sh"
net_up
tcp_differ oob 20
done_testing
