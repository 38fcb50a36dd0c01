#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Python: asyncio and selectors, with timers, threads and pipes in the same loop.
. "$(dirname "$0")/lib.sh"
need python3
net_up
for MODE in $MODES; do
	for how in asyncio selectors; do
		bg pb python3 "$APPS/aio_server.py" "$B4" 7000 $how
		server=$BG
		wait_server "$server" 7000
		offload_begin
		differ $how pa python3 "$APPS/aio_client.py" "$B4" 7000
		offload_end 1000
		stop "$server"
	done
done
done_testing
