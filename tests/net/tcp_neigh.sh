#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# connect() to neighbours that are not resolved, or do not answer: it waits as little as the kernel's, and a
# neighbour that answers has an offloaded connection.
. "$(dirname "$0")/lib_tcp.sh"
net_up
server() { # ADDRESS
	bg a python3 -c 'import socket, sys
s = socket.create_server((sys.argv[1], 7000), family=socket.AF_INET6 if ":" in sys.argv[1] else socket.AF_INET)
while True:
    c, _ = s.accept()
    c.sendall(c.recv(5))' "$1"
}
dead4=() dead6=()
for i in {100..109}; do dead4+=("${A4%.*}.$i") dead6+=("${A6%:*}:$i"); done
server "$A4"
server "$A6"
wait_tcp a 7000
for MODE in kernel one; do
	before=$(tcp_stat b ActiveOpens)
	differ v4 pb timeout 60 python3 "$TESTS/net/tcp_neigh.py" "$A4" 7000 "${dead4[@]}"
	differ v6 pb timeout 60 python3 "$TESTS/net/tcp_neigh.py" "$A6" 7000 "${dead6[@]}"
	n=$(($(tcp_stat b ActiveOpens) - before))
	if [ $MODE = kernel ]; then all=$n; else ok "the connections to the peer, of $all, were not the kernel's" test "$n" -le $((all - 6)); fi
done
done_testing
