#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Calls that make descriptors, in a process that has all that it may have.
. "$(dirname "$0")/lib_tcp.sh"
case $BUILD in *san*) export BAD_ADDRESSES=no ;; esac # a sanitizer looks there itself
net_up
tcp_differ full ''
done_testing
