#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# A program whose control group has less memory than packet memory, or the steering program, takes is served by the
# kernel: it does not end.
. "$(dirname "$0")/lib.sh"
unsanitized "a sanitizer takes more memory than the group has"
. "$TESTS/net/lib_memory.sh"
need_group
net_up
MODE=one
in_group() { # MB, backend
	export SLUICE_RX_BACKEND=$2
	echo "$1M" >"$GROUP/$LIMIT"
	rm -f "$TMP"/sluice.*.log "$TMP/steady"
	# shellcheck disable=SC2016 # the shell on host b expands it
	bg sb bash -c 'echo $$ >"$0" && exec "$@"' "$GROUP/cgroup.procs" "$BIN/echo" "$B4" 7000
	program=$BG
	wait_udp b 7000
	bg a "$BIN/steady" -i 2000 "$B4" 7000 "$TMP/steady"
	ok "$1 MB: it answers" wait_until 20 grows "$TMP/steady" 100
	ok "$1 MB: it lives" kill -0 "$program"
	ok "$1 MB: the log says what to do" grep -q "memory control group leaves.*remedy" "$TMP"/sluice.*.log
	stop "$BG" "$program"
}
in_group 16 xdp # (which registers all of it)
# The libraries and the steering program alone take more than these.
for mb in 6 5 4 3; do in_group $mb packet; done
wait_until 5 rmdir "$GROUP"
done_testing
