# SPDX-License-Identifier: BSD-2-Clause
# For tests on the simulated NIC (tests/sim/nic): hosts as in tests/net/lib.sh. The NIC is on host a, its
# port is a's veth, and the receiver that checks its frames is on b.
#
#   sim_need              skips the test where the simulated NIC cannot run
#   sim_up [OPTIONS]      makes the NIC's sysfs tree in the directory SIM. OPTIONS as in nic/device.c:
#                         min_inline=18,rates=127,...
#   sim CMD..             runs CMD on host a with the NIC; sim_bg CMD.. in the background (BG)
#   receive WHAT ARGS..   starts the independent receiver on b
#   received              waits for its end; the report is in $TMP/received, and value NAME prints a figure of it
#
# shellcheck shell=bash
# shellcheck source=tests/net/lib.sh source=tests/sim/lib_nic.sh
. "$(dirname "${BASH_SOURCE[0]}")/../net/lib.sh"
. "$TESTS/sim/lib_nic.sh"

MODE=simulated
SIM_BIN=$BUILD/tests/sim
SIM_OPTIONS=
SIM_CAPTURE=

sim_up() {
	SIM_COUNT=$((${SIM_COUNT:-0} + 1))
	SIM=$TMP/sim$SIM_COUNT
	SIM_OPTIONS=${1:-}
	mkdir "$SIM"
	sim_sysfs a "$SIM/sys" "$DEV_A"
}

sim_env() {
	local pre=$SIM_LIB
	case $(basename "$BUILD") in
	*asan*)
		pre="$(gcc -print-file-name=libasan.so):$pre"
		printf '%s\n' "ASAN_OPTIONS=detect_leaks=0:verify_asan_link_order=0:abort_on_error=1:$ASAN_LOG" \
			"UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1:$ASAN_LOG"
		;;
	esac
	printf '%s\n' "LD_PRELOAD=$pre" "SIM_NIC_CAPTURE=$SIM_CAPTURE"
	nic_env "$SIM" "$DEV_A"
}
in_sim() { # replaces this (sub)shell
	local env
	mapfile -t env < <(sim_env)
	in_ns a env "${env[@]}" "$@"
}
sim() { (in_sim "$@"); }
sim_bg() {
	(in_sim "$@") <&0 &
	BG=$!
	PIDS+=("$BG")
}

receive() {
	: >"$TMP/received"
	bg b "$SIM_BIN/receive" "$DEV_B" "$@" >"$TMP/received"
	RECEIVER=$BG
	wait_line "$TMP/received" '^listening'
}
received() {
	wait_end "$RECEIVER" 60 || fail "the receiver found the frames wrong"
	sed 's/^/  /' "$TMP/received"
}
# A figure of the NIC of the program that runs on host a, as it is now.
figure() { nic_control a stat | sed -n "s/^$1 //p"; }
# True: programs have gone back from AF_XDP to verbs so many times.
by_verbs_again() { [ "$(cat "$TMP"/sluice.*.log | grep -c 'by verbs again')" -ge "$1" ]; }
value() { # name
	sed -n "s/^$1 //p" "$TMP/received"
}
# Prints a figure of the report that the NIC left when the program ended.
counted() { # name
	sed -n "s/^$1 //p" "$SIM"/report.*
}
