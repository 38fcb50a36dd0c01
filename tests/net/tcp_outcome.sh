#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# connect(2) tells of its outcome once, whoever has the socket by then; TCP_CORK's end lets go what MSG_MORE held.
. "$(dirname "$0")/lib_tcp.sh"
net_up
tcp_differ outcome ""
done_testing
