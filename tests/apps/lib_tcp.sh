# SPDX-License-Identifier: BSD-2-Clause
# For the scripts about TCP programs: lib.sh with what tests/net/lib_tcp.sh counts of segments.
# shellcheck shell=bash
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
. "$TESTS/net/lib_tcp.sh"

# A server in the background that listens on a port of b: `serve PORT CMD..`; SERVER is its PID.
serve() {
	local port=$1
	shift
	bg pb "$@" >"$(said server)" 2>&1
	SERVER=$BG
	wait_until 30 tcp_bound b "$port" ||
		{ fail "$1 does not listen"; tail -n 5 "$(said server)"; return 1; }
}
