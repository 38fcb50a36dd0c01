#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# A listener that only io_uring accepts from gives also the connections that came before there was a ring. One of a
# program whose io_uring is for files alone, or changes epoll sets, stays offloaded.
. "$(dirname "$0")/lib_tcp.sh"
need python3
net_up
need_built
PORT=7900
peer_is_kernels
by_calls() { # name, the server's argument
	PORT=$((PORT + 1))
	bg pb "$BIN/uring_accept" "${!own}" $PORT "$2" 3
	wait_tcp b $PORT
	segs_begin
	differ "$1$fam" a timeout 60 python3 "$TESTS/net/uring_accept.py" "${!own}" $PORT "" 3
	segs_end "$1$fam" 30
	ok "the server of $1 ends" wait_end "$BG" 20
}
for MODE in $MODES; do
	meet
	for fam in ${FAMILIES:-4 6}; do
		own=B$fam
		by_calls files ""
		kernel_is 6.10 || { say "no IORING_NOP_INJECT_RESULT"; continue; }
		by_calls sets sets
		PORT=$((PORT + 1))
		bg pb "$BIN/uring_accept" "${!own}" $PORT "$TMP/queued.$MODE.$fam" 3
		wait_tcp b $PORT
		differ uring$fam a timeout 60 python3 "$TESTS/net/uring_accept.py" "${!own}" $PORT "$TMP/queued.$MODE.$fam" 3
		ok "the server ends" wait_end "$BG" 20
	done
done
done_testing
