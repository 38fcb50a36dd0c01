#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# A connection that is bound to another device than its own leaves that, as in the kernel.
. "$(dirname "$0")/lib_tcp.sh"
net_up
tcp_differ bind_lo "" ${LEASED:+bind}
done_testing
