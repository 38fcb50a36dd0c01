#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# TTL, TOS, traffic class, hop limit: set, by message, received; options that keep a value.
. "$(dirname "$0")/lib.sh"
net_up
udp_differ opts 1 20
done_testing
