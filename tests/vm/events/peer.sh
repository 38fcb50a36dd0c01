#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# The peer is suspended, VM_COUNT times, while a connection carries bytes that are checked: its program stops
# (its kernel goes on and says that there is no room), its host is away from the network for seconds, for so long
# that the neighbour is given up, or both; and the program on this side stops, while the peer's goes on. Each time the
# connection goes on, the same and still not the kernel's.
VM_NICS=${VM_NICS:-virtio} VM_COUNT=${VM_COUNT:-20} VM_SECONDS=${VM_SECONDS:-3000}
. "$(dirname "$0")/../lib.sh"
. "$VM_DIR/lib_events.sh"
away() { # seconds
	ip -n "${NS}a" link set "$DEV_A" down && sleep "$1" && ip -n "${NS}a" link set "$DEV_A" up
}
stopped() { # pid command...
	local pid=$1 rc
	shift
	kill -STOP "$pid" && "$@"
	rc=$?
	kill -CONT "$pid" && return $rc
}
suspend() { # round
	case $(($1 % 5)) in
	1) stopped "$SERVER" sleep 5 ;;
	2) away 3 ;;
	3) stopped "$SERVER" away 5 ;;
	4) away 20 ;;
	0) stopped "$STREAM" sleep 5 ;;
	esac
}
use 1
net_up
SL_ENV=(SLUICE_FRAME_SIZE=4096)
stream_begin
rounds suspend
stream_end
same "connections that the kernel has" 0 "$(cut -d' ' -f2 "$TMP/stream")"
kernel_quiet
done_testing
