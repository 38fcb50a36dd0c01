#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# A process whose first thread ends alone ends with its last one, with the same status.
. "$(dirname "$0")/../net/lib_tcp.sh"
P=$BUILD/tests/preload
need "$P/last_thread" "$P/peer"
net_up
bg a "$P/peer" "$A4" 7000
wait_tcp a 7000
meet
ended() { timeout -k 1 5 "$@"; echo "status $?"; }
export -f ended
for MODE in kernel one; do
	segs_begin
	for how in exit_alone c11 exit_first joined bare bare_first strict; do
		differ "$how" pb bash -c 'ended "$@"' bash "$P/last_thread" "$A4" 7000 "$B4" "$how"
	done
	segs_end last_thread 60
done
done_testing
