#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# A remote host uses up packet memory by more than a thousand connections: little pieces and full segments beyond holes,
# answers in small segments that it does not read. An honest client is served as by the kernel, and an old connection
# lives.
. "$(dirname "$0")/lib_tcp.sh"
need python3
net_up -t
GHOST_MAC=02:00:5e:10:00:78
MAC_B=$(ip -n "${NS}b" -o link show "$DEV_B" | sed 's/.*link.ether \([0-9a-f:]*\).*/\1/')
G4=$NET4.78
ip -n "${NS}b" neigh add "$G4" lladdr $GHOST_MAC dev "$DEV_B" nud permanent
CONNS=${CONNS:-1150}
for MODE in $MODES; do
	if [ "$MODE" = both ]; then # nobody on a is preloaded
		case " $MODES " in *" one "*) continue ;; esac
		MODE=one
	fi
	for kind in ${*:-tiny full unsent}; do
		bg pb python3 "$TESTS/net/tcp_memory.py" serve "$B4" 7000
		subject=$BG
		wait_tcp b 7000
		differ "$kind" a timeout 60 python3 "$TESTS/net/tcp_memory.py" attack "$DEV_A" "$G4" $GHOST_MAC "$B4" \
			"$MAC_B" "$kind" "$CONNS"
		cat "$TMP/differ.err"
		kill -9 "$subject" 2>/dev/null
		wait "$subject" 2>/dev/null
	done
done
done_testing
