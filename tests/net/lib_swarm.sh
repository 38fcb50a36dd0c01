# SPDX-License-Identifier: BSD-2-Clause
# Connections of tcp_swarm with checked bytes both ways, offloaded on host b, which go on until end(); in between the
# test does something to them. Source this after net_up.
# shellcheck shell=bash source=lib.sh
need "$BIN/tcp_swarm"
need_built
N=8
PORT=7100
MODES=${MODES/kernel/}
export SWARM_US=4000

# Prints how many connections of the port a host's kernel has, without those that have ended.
kernels() { "$1" ss -Htn state connected exclude time-wait "( sport = :$2 or dport = :$2 )" | wc -l; }
has() { [ "$(kernels "$1" "$2")" "$3" "$4" ]; }
resets() { tcp_stat a EstabResets; }

# True: guards keep the kernel from resetting connections whose segments it gets before it has the connections
# (lib/ctl/steer/guard.c; Linux 5.12). Else a test leaves that part out, and says $GUARD_NOTE.
guarded() { kernel_is 5.12; }
GUARD_NOTE="this kernel has no tables that have an owner (Linux 5.12), by which its resets are held back"

# Starts the swarm, and returns when it is under way.
launch() { # role, address family
	local own=B$2 peer=A$2 args
	own=${!own} peer=${FAR:-${!peer}}
	PORT=$((PORT + 1))
	args="$PORT $N $N $PORT 1500000"
	BEFORE=$(resets)
	rm -f "$TMP/end"
	# shellcheck disable=SC2086
	if [ "$1" = listen ]; then
		SWARM_HOLD=$TMP/end bg pb "$BIN/tcp_swarm" listen "$own" "$peer" $args 0 >"$TMP/b" 2>&1
		SUBJECT=$BG
		wait_tcp b $PORT
		bg pa "$BIN/tcp_swarm" connect "$peer" "$own" $args 0 >"$TMP/a" 2>&1
		OTHER=$BG
	else
		bg pa "$BIN/tcp_swarm" listen "$peer" "$own" $args 0 >"$TMP/a" 2>&1
		OTHER=$BG
		wait_tcp a $PORT
		SWARM_HOLD=$TMP/end bg pb "$BIN/tcp_swarm" connect "$own" "$peer" $args 0 >"$TMP/b" 2>&1
		SUBJECT=$BG
	fi
	wait_line "$TMP/b" "under way"
}
# Launches the programs and checks that the subject is offloaded.
begin() {
	launch "$@"
	same "$WHAT: offloaded" 0 "$(kernels b $PORT)"
}
end() {
	touch "$TMP/end"
	both_end "$WHAT" "$SUBJECT" "$OTHER" 120
	[ "$MODE" = both ] || same "$WHAT: no reset" "$BEFORE" "$(resets)"
}
