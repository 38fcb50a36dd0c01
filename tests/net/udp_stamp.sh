#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# SO_TIMESTAMP and SO_TIMESTAMPNS.
. "$(dirname "$0")/lib.sh"
net_up
udp_differ stamp 1 20
done_testing
