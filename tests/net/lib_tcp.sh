# SPDX-License-Identifier: BSD-2-Clause
# For the scripts about TCP (tcp_*.sh): the subject tcp_NAME.py on host b, its far end on host a.
# shellcheck shell=bash source=lib.sh
[ -n "${APPS:-}" ] || . "${BASH_SOURCE[0]%/*}/lib.sh"

# Has both hosts learn each other's hardware address. A nonblocking connect() gives the kernel up to 50 ms
# to find it; on a busy machine that may be too short, and then the connection is the kernel's.
meet() {
	local send='for to; do echo >"/dev/udp/$to/9"; done'
	a bash -c "$send" - "$B4" "$B6" 2>/dev/null
	b bash -c "$send" - "$A4" "$A6" 2>/dev/null
	return 0
}

# Prints how many segments a host's kernel received and sent, without its resets for unknown connections.
tcp_segs() { "$BIN/counters" Tcp InSegs+OutSegs "/run/netns/$NS$1"; }
# Prints both hosts' by one process: "A B".
both_segs() { "$BIN/counters" Tcp InSegs+OutSegs "/run/netns/${NS}a" "/run/netns/${NS}b"; }

# Assert that between segs_begin and segs_end the kernel of a host whose program is preloaded saw at most
# PERCENT of the segments that it sees in mode kernel.
declare -A SEGS_OF
FAR_N=0
segs_begin() { read -r SEGS_A SEGS_B <<<"$(both_segs)"; }
segs_end() { # name percent
	local in_a in_b WHO
	read -r in_a in_b <<<"$(both_segs)"
	in_a=$((in_a - SEGS_A)) in_b=$((in_b - SEGS_B))
	if [ "$MODE" = kernel ]; then
		SEGS_OF[$1.a]=$in_a SEGS_OF[$1.b]=$in_b
		return
	fi
	pick pb
	[ "$WHO" = sb ] && ok "$1: b's kernel saw $in_b segments, alone ${SEGS_OF[$1.b]}" \
		test $((in_b * 100)) -le $((${SEGS_OF[$1.b]} * $2))
	pick pa
	[ "$WHO" = sa ] && ok "$1: a's kernel saw $in_a segments, alone ${SEGS_OF[$1.a]}" \
		test $((in_a * 100)) -le $((${SEGS_OF[$1.a]} * $2))
	return 0
}

# Prints one of a host's TCP counters.
tcp_stat() { "$BIN/counters" Tcp "$2" "/run/netns/$NS$1"; }

# Waits until the subject has ended, at most SECONDS, and then its peer. Their output is in $TMP/b and $TMP/a.
both_end() { # WHAT SUBJECT PEER SECONDS
	if ! wait_end "$2" "$4"; then
		fail "$1: the subject failed: $(cat "$TMP/b")"
		stop "$3"
		cat "$TMP/a"
		return 1
	fi
	wait_end "$3" 60 || { fail "$1: the peer failed: $(cat "$TMP/a")"; return 1; }
	pass "$1: $(cat "$TMP/b")"
}

# Runs tcp_PROGRAM.py OWN PEER CONTROL [ARGS] once on b with a far host on a, in $MODE and for family
# $fam, and compares its output with the kernel's. PERCENT: how much traffic may be the kernel's in an
# offloaded mode (loopback, connections that are refused); "": not checked.
tcp_round() { # PROGRAM NAME PERCENT [ARGS...]
	local program=$1 name=$2$fam percent=$3 peer=A$fam own=B$fam far
	shift 3
	meet
	far_up pa
	segs_begin
	differ "$name" pb python3 "$TESTS/net/tcp_$program.py" "${!own}" "${!peer}" "$TMP/far.$FAR_N" "$@"
	[ -n "$percent" ] && segs_end "$name" "$percent"
	stop "$far"
}
# A peer of raw frames on host a (segpeer.py), whose address b knows in that state of a neighbour. Sets GHOST_MAC, G4, G6,
# and MAC_B.
# shellcheck disable=SC2034 # the test's
ghosts_are() { # permanent|reachable
	local g
	GHOST_MAC=02:00:5e:10:00:77 G4=$NET4.77 G6=$NET6::77
	MAC_B=$(ip -n "${NS}b" -o link show "$DEV_B" | sed 's/.*link.ether \([0-9a-f:]*\).*/\1/')
	for g in "$G4" "$G6"; do ip -n "${NS}b" neigh replace "$g" lladdr $GHOST_MAC dev "$DEV_B" nud "$1"; done
}
# The modes of a test without a preloaded program on a.
modes_alone() { tr ' ' '\n' <<<"${MODES//both/one}" | awk '!seen[$0]++'; }
# Starts a process that does as another one asks (tcp_far.py), on a (pa) or b (pb): far is its number, $TMP/far.$FAR_N its
# socket.
far_up() {
	FAR_N=$((FAR_N + 1))
	bg "$1" python3 "$TESTS/net/tcp_far.py" "$TMP/far.$FAR_N"
	far=$BG
	wait_until 30 test -S "$TMP/far.$FAR_N" || die "tcp_far.py does not start"
}

# Runs PROGRAM.py as the peer of raw frames against a process on b, and compares; the kernel of b may see PERCENT of the
# segments that it sees alone (empty: not asserted). own and ghost are names of addresses (B4, G4).
ghost_differ() { # NAME PERCENT PROGRAM [ARGS...]
	local name=$1 percent=$2 program=$3
	shift 3
	far_up pb
	segs_begin
	differ "$name" a python3 "$TESTS/net/$program.py" "$DEV_A" "${!ghost}" $GHOST_MAC "${!own}" "$MAC_B" "$TMP/far.$FAR_N" "$@"
	[ -z "$percent" ] || segs_end "$name" "$percent"
	stop "$far"
}
# Forgets the path MTUs that host b was told.
paths_forgotten() {
	ip -n "${NS}b" route flush cache
	ip -n "${NS}b" -6 route flush cache
}

# Calls tcp_round() in every mode and for both families.
tcp_differ() { # PROGRAM PERCENT [ARGS...]
	local program=$1 percent=$2 fam
	shift 2
	need python3
	for MODE in $MODES; do
		for fam in ${FAMILIES:-4 6}; do
			tcp_round "$program" "$program" "$percent" "$@"
		done
	done
}
