#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# A program in another PID namespace has its counters in the same directory: a process that cannot see that program
# leaves them alone.
unset SLUICE_STATS_SHMEM_DIR # (the others in there are no concern of ours)
. "$(dirname "$0")/lib.sh"
net_up
need python3 unshare
need_built
unshare --pid --fork true 2>/dev/null || skip "no process namespaces"
MODE=one
bg a python3 "$TESTS/net/reflector.py" "$A4" 7000 1
wait_udp a 7000
files() { find "$TMP/stats" -name 'sluice.*.stats' | wc -l; }
has_file() { [ "$(files)" = 1 ]; }
inside() { # the tool, where the program is
	b nsenter --target "$(pgrep -P "$HOLDER")" --pid --mount "$BUILD/sluice" "$@"
}
lists() { [ -n "$(inside stat --list)" ]; }

# (The numbers of its processes are low: that of the program is no process here or another one.)
bg b unshare --pid --fork --kill-child --mount-proc sleep 1000
HOLDER=$BG
wait_until 10 pgrep -P "$HOLDER" >"$TMP/init" || die "no process namespace"
init=$(pgrep -P "$HOLDER")
mapfile -t pre < <(preload_env b)
(exec nsenter --target "$init" --pid --mount --net env "${pre[@]}" "SLUICE_LOG_FILE=$TMP/sluice.in.log" \
	python3 "$TESTS/net/settings.py" wait "$B4" "$A4" 7000) >"$TMP/out" &
PROGRAM=$!
wait_line "$TMP/out" ready
ok "the program has its file" wait_until 10 has_file
ok "and is listed in its namespace" wait_until 10 lists
same "it is not listed elsewhere" "" "$(b "$BUILD/sluice" stat --list)"
same "and has its file still" 1 "$(files)"
ok "so it is listed where it is" lists
# The next program of the same user looks, too, after a second.
bg sb python3 "$TESTS/net/settings.py" wait "$B4" "$A4" 7000 >"$TMP/other"
sleep 4
ok "another program leaves it" lists
stop "$BG"
kill -9 "$(pgrep -P "$PROGRAM" 2>/dev/null || echo "$PROGRAM")"
wait "$PROGRAM" 2>/dev/null
removed() { b "$BUILD/sluice" stat --list >/dev/null; [ "$(files)" = 0 ]; }
ok "what a dead one has left is removed by whoever looks" wait_until 10 removed
done_testing
