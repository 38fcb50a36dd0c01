#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# fork and exec: parent and child both stay sound.
. "$(dirname "$0")/lib.sh"
net_up
udp_differ fork 1 ''
done_testing
