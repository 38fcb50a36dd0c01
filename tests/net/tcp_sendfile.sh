#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# sendfile() and splice() with TCP.
. "$(dirname "$0")/lib_tcp.sh"
net_up
tcp_differ sendfile 100 "$TMP/file"
done_testing
