#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# sockperf with each of its ways to wait, several sockets, threads, multicast groups.
. "$(dirname "$0")/lib_sockperf.sh"
net_up

for MODE in $MODES; do
	for how in select poll epoll recvfrom; do
		feed "$B4:5001" >"$TMP/feed1"
		feed "$B4:5001" "$B4:5002" "$B4:5003" "$B4:5004" >"$TMP/feed4"
		f=feed4
		[ $how = recvfrom ] && f=feed1
		round "$how" 0 -f "$TMP/$f" -F $how -- pp -f "$TMP/$f" -F $how
	done
	round threads 0 -f "$TMP/feed4" -F epoll --threads-num 2 -- pp -f "$TMP/feed4" -F epoll
	printf 'U:%s\n' 239.1.2.3:5011 239.1.2.4:5012 >"$TMP/mc"
	round mcpp 0 -f "$TMP/mc" -F epoll --mc-rx-if "$B4" --mc-tx-if "$B4" -- \
		pp -f "$TMP/mc" -F epoll --mc-rx-if "$A4" --mc-tx-if "$A4"
done
done_testing
