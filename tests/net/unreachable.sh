#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# A program shuts itself in (chroot, Landlock, a mount namespace), or was shut in from its start, so that no path leads to
# the daemon or to /proc. What it had goes on, what it makes then is served, by the library or the kernel.
. "$(dirname "$0")/lib_tcp.sh"
need python3 unshare
net_up
meet
PORT=7600
shut_in() { # HOW, and what starts the program
	local how=$1
	shift
	PORT=$((PORT + 10))
	bg pb "$@" timeout 40 python3 "$TESTS/net/unreachable.py" "$B4" $PORT "$how" >"$TMP/b" 2>"$TMP/b.log"
	same "$how: the clients" "all is answered" "$(a timeout 40 python3 "$TESTS/net/unreachable.py" ask "$B4" $PORT 2>&1 | tail -n 1)"
	ok "$how: the server ends" wait_end "$BG" 20
	same "$how: the server" "shut in" "$(cat "$TMP/b")"
}
for MODE in ${MODES/ both/}; do
	for how in ${HOWS-chroot landlock mount}; do shut_in "$how"; done
	shut_in start unshare -m sh -c 'mount -t tmpfs none "$0" && "$@" && grep -hs "no daemon" "$0"/sluice.*.log >&2; :' "$TMP"
	[ -z "${LEASED:-}" ] || [ "$MODE" = kernel ] || same "it is said once" 1 "$(grep -c 'no daemon answers' "$TMP/b.log")"
done
done_testing
