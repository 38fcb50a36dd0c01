#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Bytes of a TCP connection: exact both ways, by every call and flag, in any sizes.
. "$(dirname "$0")/lib_tcp.sh"
net_up
tcp_differ stream 10 "$B4" "$A4"
done_testing
