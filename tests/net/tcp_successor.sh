#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# A successor that a server starts by exec with its listener gets the connections that come while a worker of the old
# server, which has a part of the listener by the daemon, accepts no more.
LEASED=1
. "$(dirname "$0")/lib_tcp.sh"
need python3 setpriv
net_up
need_built
PORT=7700
mkdir -m 777 "$TMP/s"
peer_is_kernels
for MODE in $MODES; do
	meet
	for fam in ${FAMILIES:-4 6}; do
		own=B$fam
		PORT=$((PORT + 1))
		bg pb python3 "$TESTS/net/tcp_successor.py" server "${!own}" $PORT "$TMP/s/$fam.$MODE"
		wait_tcp b $PORT
		differ successor$fam a timeout 60 python3 "$TESTS/net/tcp_successor.py" client "${!own}" $PORT "$TMP/s/$fam.$MODE"
		kill -9 "$BG"
		wait "$BG" 2>/dev/null
		for p in $(ip netns pids "${NS}b"); do
			grep -qa "tcp_successor" "/proc/$p/cmdline" && kill -9 "$p"
		done 2>/dev/null
	done
done
done_testing
