#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# After a burst a server is idle, whatever its time-outs are: polling costs no more than the burst did, and the keeper
# sleeps though the program looks at its clock. The server has a core to itself, so that it may poll.
. "$(dirname "$0")/lib_tcp.sh"
need python3
net_up
value() { sed -n "s/^$2 //p" "$TMP/$1"; } # run, name
for MODE in kernel one; do
	for how in epoll receive; do
		meet
		bg pb python3 "$TESTS/net/idle_burst.py" server "$B4" 7000 $how >"$TMP/$MODE.$how"
		server=$BG
		wait_tcp b 7000
		a python3 "$TESTS/net/idle_burst.py" client "$B4" 7000 || fail "$how: the client: $?"
		wait_end "$server" 20 || fail "$how: the server: $?"
		[ "$MODE" != kernel ] || continue
		for name in after often; do
			ms=$(value "$MODE.$how" $name) kernel=$(value kernel.$how $name)
			ok "$how, $name: $ms ms of a core, the kernel $kernel" test "${ms:-9999}" -le $((kernel * 4 + 40))
		done
		n=$(value "$MODE.$how" switches)
		ok "$how: the keeper woke $n times in two seconds" test "${n:-999}" -le 12
	done
done
done_testing
