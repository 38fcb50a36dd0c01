#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# SO_RCVBUF is a bound, SO_RXQ_OVFL counts the datagrams dropped for it, and other sockets do not suffer.
. "$(dirname "$0")/lib.sh"
net_up
udp_differ rcvbuf 1 1000
done_testing
