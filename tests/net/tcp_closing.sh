#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# A process closes a listener that others have, while handshakes with it are under way and their peers are slow: these
# end as they would in the kernel, where the listener is there still. Of the parent of workers, and by the daemon
# (LEASED=1) of a worker, too.
. "$(dirname "$0")/lib_tcp.sh"
need python3 setpriv
net_up -t
need_built
export TMP
GHOST_MAC=02:00:5e:10:00:77
MAC_B=$(ip -n "${NS}b" -o link show "$DEV_B" | sed 's/.*link.ether \([0-9a-f:]*\).*/\1/')
G4=$NET4.77 G6=$NET6::77
ip -n "${NS}b" neigh add "$G4" lladdr $GHOST_MAC dev "$DEV_B" nud permanent
ip -n "${NS}b" neigh add "$G6" lladdr $GHOST_MAC dev "$DEV_B" nud permanent
PORT=7600
closing() { # workers|parent [PATH]
	local own=B$fam ghost=G$fam
	differ "$1$fam" a timeout 60 python3 "$TESTS/net/tcp_closing.py" "$1" "$DEV_A" "${!ghost}" $GHOST_MAC \
		"${!own}" "$MAC_B" $PORT "${@:2}"
}
peer_is_kernels
for MODE in $MODES; do
	meet
	for fam in ${FAMILIES:-4 6}; do
		own=B$fam
		PORT=$((PORT + 1))
		bg pb python3 "$TESTS/net/tcp_prefork.py" server "${!own}" $PORT 3 "$TMP/go.$PORT" close
		wait_tcp b $PORT
		closing parent "$TMP/go.$PORT"
		stop "$BG"
		[ -n "${LEASED:-}" ] || continue
		PORT=$((PORT + 1))
		bg pb python3 "$TESTS/net/tcp_workers.py" server "${!own}" $PORT 2 one
		wait_tcp b $PORT
		closing workers
		kill -9 "$BG" # (the workers follow)
		wait "$BG" 2>/dev/null
	done
done
done_testing
