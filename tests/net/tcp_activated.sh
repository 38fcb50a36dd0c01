#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Connections that wait for accept() when a server, or its child, executes another program with the listener are that
# program's.
LEASED=${LEASED-1}
. "$(dirname "$0")/lib_tcp.sh"
need python3 setpriv
net_up
need_built
PORT=7800
peer_is_kernels
for MODE in $MODES; do
	meet
	for fam in ${FAMILIES:-4 6}; do
		own=B$fam
		for how in fork self bare; do
			PORT=$((PORT + 1))
			bg pb python3 "$TESTS/net/tcp_activated.py" server "${!own}" $PORT $how
			wait_tcp b $PORT
			differ "$how$fam" a timeout 60 python3 "$TESTS/net/tcp_activated.py" client "${!own}" $PORT
			[ $how != fork ] || differ "$how$fam" a timeout 60 python3 "$TESTS/net/tcp_activated.py" client "${!own}" $PORT
			stop "$BG"
		done
	done
done
done_testing
