#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# The error that ends recvmmsg(2) after its first message is the socket's: for poll, epoll, SO_ERROR and the next call.
. "$(dirname "$0")/lib_tcp.sh"
case $BUILD in *san*) export BAD_ADDRESSES=no ;; esac # a sanitizer looks there itself
net_up
tcp_differ kept ''
done_testing
