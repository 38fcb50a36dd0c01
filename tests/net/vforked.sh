#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Children that have their parent's memory (vfork(2)), and programs that posix_spawn(3) starts with actions on a socket,
# use a connection of the parent's as by the kernel (vforked.c).
. "$(dirname "$0")/lib_tcp.sh"
need python3
net_up
peer_is_kernels
PORT=7800
[ -z "${SHORT:-}" ] || HOW=${HOW-4use 6msg 4shut}
for MODE in $MODES; do
	for how in ${HOW-4use 6msg 4shut 6dup 4spawn 6same 4closes}; do
		PORT=$((PORT + 1))
		own=B${how%%[a-z]*}
		bg pb "$BIN/vforked" "${how#[46]}" "${!own}" $PORT
		wait_tcp b $PORT
		differ "$how" a timeout 30 python3 "$TESTS/net/vforked.py" "${!own}" $PORT
		stop "$BG" 2>/dev/null
	done
done
done_testing
