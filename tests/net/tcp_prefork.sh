#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Forked workers that block in accept() on one listener, as Apache's do: a connection goes to one who is free, as
# in the kernel, and by the daemon that one takes it over.
LEASED=${LEASED-1}
. "$(dirname "$0")/lib_tcp.sh"
need python3 setpriv
net_up
need_built
export TMP
PORT=7500
N=3
peer_is_kernels
for MODE in $MODES; do
	meet
	for fam in 4 6; do
		own=B$fam
		PORT=$((PORT + 1))
		bg pb python3 "$TESTS/net/tcp_prefork.py" server "${!own}" $PORT $N
		wait_tcp b $PORT
		segs_begin
		differ client$fam a timeout 60 python3 "$TESTS/net/tcp_prefork.py" client "${!own}" $PORT $N
		[ -z "$LEASED" ] || segs_end "client$fam" 40
		stop "$BG"
	done
	# Connections that came to the parent before any accept(), and before the parent leaves, are for the children.
	for how in stay close exit exec; do
		PORT=$((PORT + 1))
		path=$TMP/$how.$MODE
		bg pb python3 "$TESTS/net/tcp_prefork.py" server "$B4" $PORT $N "$path" $how
		wait_tcp b $PORT
		differ $how a timeout 60 python3 "$TESTS/net/tcp_prefork.py" late "$B4" $PORT $N "$path"
		[ $how = exit ] || stop "$BG"
	done
done
done_testing
