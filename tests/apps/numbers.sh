#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# A program's descriptors have the numbers that they have on the kernel, under generous and narrow
# limits, and the library survives a program that closes everything it does not know.
. "$(dirname "$0")/lib.sh"
need python3 "$BUILD/tests/apps/numbers"
net_up

# Runs the program under the given limits of `ulimit -n`.
limited() { # soft hard
	pb prlimit --nofile="$1:$2" timeout 60 "$BUILD/tests/apps/numbers" "$B4" "$A4" 7000
}
hard=$(ulimit -Hn)
limits=(1024:4096 "64:$hard")
[ -n "${SHORT:-}" ] || limits+=(1024:1024 256:256 "2048:$hard")
for MODE in kernel server; do
	bg a python3 "$TESTS/net/reflector.py" "$A4" 7000 1
	wait_udp a 7000
	for limit in "${limits[@]}"; do
		[ "$hard" != unlimited ] && [ "${limit#*:}" -gt "$hard" ] && continue
		before=$(udp_stat b InDatagrams)
		differ "numbers-$limit" limited "${limit%:*}" "${limit#*:}"
		# (The child's datagram, and the parent's next one, go through the kernel.)
		[ "$MODE" = kernel ] || ok "past the kernel with limit $limit" \
			test $(($(udp_stat b InDatagrams) - before)) -le 2
	done
	stop "$BG"
done
done_testing
