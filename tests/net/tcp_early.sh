#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Connections that come before a server has forked its workers, and while it does, go to the workers, by whatever call
# they wait.
. "$(dirname "$0")/lib_tcp.sh"
need python3 setpriv
net_up
PORT=7600
come() { # FAMILY WHO
	local own=B$1 path=$TMP/go.$MODE.$1.$2
	PORT=$((PORT + 1))
	bg pb python3 "$TESTS/net/tcp_early.py" server "${!own}" $PORT "$path" "$2"
	wait_tcp b $PORT
	differ "$2$1" a timeout 90 python3 "$TESTS/net/tcp_early.py" client "${!own}" $PORT "$path"
	stop "$BG"
}
peer_is_kernels
for MODE in $MODES; do
	[ -z "${LEASED:-}" ] || meet
	for who in ${KINDS:-epoll poll select parent set blocks}; do
		come 4 "$who"
	done
	come 6 epoll
done
done_testing
