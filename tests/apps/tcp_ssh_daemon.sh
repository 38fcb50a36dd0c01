#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# tcp_ssh.sh by the daemon: children that are forked, executed anew, and confine themselves have the library, too.
BY_DAEMON=1
MODES=${MODES:-kernel server}
. "$(dirname "$0")/tcp_ssh.sh"
