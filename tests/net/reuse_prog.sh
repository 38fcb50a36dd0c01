#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# A BPF program of a SO_REUSEPORT group (SO_ATTACH_REUSEPORT_CBPF) chooses among all its sockets, whenever it
# came: no socket of the group is served by the steering program beside it.
. "$(dirname "$0")/lib_tcp.sh"
need_built
need python3
net_up
cat >"$TMP/peer.py" <<'P'
import socket
import sys

proto, address, port = sys.argv[1:]
family = socket.AF_INET6 if ":" in address else socket.AF_INET
for i in range(40):
    if proto == "tcp":
        socket.create_connection((address, int(port)), 5)
    else:
        s = socket.socket(family, socket.SOCK_DGRAM)
        s.sendto(b"x", (address, int(port)))
P
one_run() { # tcp or udp, when
	rm -f "$TMP/ready"
	(wait_until 20 test -e "$TMP/ready" && a python3 "$TMP/peer.py" "$1" "$OWN" $PORT) >/dev/null &
	PORT=$((PORT + 1))
	differ "$1-$2-IPv$fam" pb python3 "$TESTS/net/reuse_prog.py" "$1" "$2" "$OWN" $((PORT - 1)) "$TMP/ready"
	wait $!
}
peer_is_kernels
for fam in ${FAMILIES:-4 6}; do
	OWN=B$fam OWN=${!OWN}
	for MODE in $MODES; do
		PORT=$((${PORT:-7500} + 20)) # (no port that has TIME_WAIT)
		meet
		for proto in tcp udp; do
			for when in last first late; do one_run $proto $when; done
		done
	done
done
done_testing
