#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Rare uses of UDP: ports lost with the peer, odd flags, corking, shutdown, options of one family on a socket of both,
# wrong calls while an error waits.
. "$(dirname "$0")/lib.sh"
net_up
for MODE in $MODES; do
	bg pa python3 "$TESTS/net/reflector.py" "$A4" 7000 2
	four=$BG
	bg pa python3 "$TESTS/net/reflector.py" "$A6" 7000 2
	bound a 30 udp 7001 2 || die "the reflectors do not start"
	for part in ${PARTS:-ports flags corked shut families errors options calls}; do
		differ "$part" pb python3 "$TESTS/net/edges.py" "$part" "$B4" "$B6" "$A4" "$A6" 7000
	done
	stop "$four" "$BG"
done
done_testing
