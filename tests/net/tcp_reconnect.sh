#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# A client connects from ports that the server has in TIME_WAIT of another program's connections, at once and not after
# ticks: the ACK of the old connection is reset, and the SYN goes out again behind the reset.
. "$(dirname "$0")/lib_tcp.sh"
need python3
net_up
PORT=7000 COUNT=${COUNT:-150}
a_server() {
	PORT=$((PORT + 1))
	bg "$1" python3 "$TESTS/net/tcp_reconnect.py" server "$A4" $PORT
	server=$BG
	wait_tcp a $PORT
	meet
}
client() { "$1" timeout 60 python3 "$TESTS/net/tcp_reconnect.py" client "$A4" $PORT "$COUNT" || echo "0 $COUNT"; }
for MODE in kernel one both; do
	for first in b pb; do
		a_server pa
		client $first >/dev/null
		read -r rate slow < <(client pb)
		stop "$server"
		[ "$MODE" != kernel ] || kernel=${slow:-0} kernel_rate=${rate:-1}
		ok "after $(by_mode $first): $slow of $COUNT came late, the kernel's $kernel ($rate a second, $kernel_rate)" \
			test "${slow:-$COUNT}" -le $((kernel + COUNT / 10))
	done
done
done_testing
