#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# HANDLE_SIGINTR ends the waits of all threads, HANDLE_SIGSEGV logs a backtrace; both leave the program's own handler.
. "$(dirname "$0")/../net/lib.sh"
PBIN=$BUILD/tests/preload
need "$PBIN/handlers"
net_up
MODE=one

run() { # case, settings...: OUT is what the program prints, RC its exit status, LOG what the library says
	local what=$1
	shift
	SL_ENV=("SLUICE_LOG_FILE=$TMP/log" "$@")
	rm -f "$TMP/log"
	OUT=$(sb timeout 20 "$PBIN/handlers" "$what" "$B4")
	RC=$?
	LOG=$(cat "$TMP/log" 2>/dev/null)
}
says() { grep -q "$1" <<<"$LOG"; }

for how in -1 0; do
	run int SLUICE_RX_POLL=$how SLUICE_SELECT_POLL=$how SLUICE_HANDLE_SIGINTR=1
	same "HANDLE_SIGINTR=1, polls $how: all waits end" "epoll_wait: EINTR,poll: EINTR,recv: EINTR" \
		"$(sort <<<"$OUT" | paste -sd,)"
	run int SLUICE_RX_POLL=$how SLUICE_SELECT_POLL=$how
	same "without it they go on, polls $how" "0 waits,1 waits,2 waits" "$(sort <<<"$OUT" | paste -sd,)"
done

case $BUILD in *san*) done_testing; exit ;; esac # (a sanitizer has handlers of its own for faults)
run null
ok "a fault without HANDLE_SIGSEGV kills ($RC), silently" test "$RC" = 139
ok "and nothing is logged" test -z "$(grep fault <<<"$LOG")"
run null SLUICE_HANDLE_SIGSEGV=1
ok "with HANDLE_SIGSEGV=1 it kills too ($RC)" test "$RC" = 139
ok "the address is logged" says 'segmentation fault of thread [0-9]*: address 0x8, at 0x'
ok "the backtrace begins with the program" says '#0 0x[0-9a-f]* in .*/handlers+0x'
ok "and ends in the C library's start" says '#[0-9]* 0x[0-9a-f]* __libc_start_main+0x'
run jump SLUICE_HANDLE_SIGSEGV=1
ok "a call of nothing kills ($RC)" test "$RC" = 139
ok "and is told" says 'segmentation fault of thread [0-9]*: address (nil), at (nil)'
run caught SLUICE_HANDLE_SIGSEGV=1
same "the program's own handler runs, each time" caught "$OUT"
same "the first eight are told" 8 "$(grep -c 'segmentation fault' <<<"$LOG")"
done_testing
