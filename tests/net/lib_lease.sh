# SPDX-License-Identifier: BSD-2-Clause
# For the scripts about programs without privileges, which the daemon of host b serves.
#
#   lease_up OPTIONS  net_up, with a daemon on each host; MODE is leased: sb CMD.. runs without privileges
#   daemon CMD..      runs `sluice daemon CMD` on b's daemon
#   daemon_pid, vault_pid        the process ids of b's daemon and vault
#   leases_are N      true: N programs have a lease
#   has_claim PORT    true: a program on b has a claim on that port; claim_on DEVICE PORT: on another device
#   echo_as USER ADDRESS PORT    a preloaded UDP echo of that user on b, in the background (BG)
#   daemon_ends, daemon_starts POLICY, on_steering_nic   end b's daemon, start another one
#   alive_watch, alive_end WHAT  assert that b's daemon answers all the time in between
# shellcheck shell=bash source=lib.sh
LEASED=1
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
need setpriv bpftool

pid_of() { # words of a command line
	local p words
	for p in $(ip netns pids "${NS}b"); do
		{ mapfile -d '' -t words <"/proc/$p/cmdline"; } 2>/dev/null
		[[ "${words[*]}" != *"$1"* ]] || echo "$p"
	done
}
# (A process that the daemon starts has the daemon's name until it executes another program. The daemon is the older.)
daemon_pid() { pid_of "sluiced --socket" | head -n 1; }
vault_pid() { pid_of "sluice vault"; }
daemon() { SLUICE_DAEMON=$TMP/sluiced.b "$BUILD/sluice" daemon "$@"; }
daemon_answers() { daemon status >/dev/null 2>&1; }
leases() { # prints how many there are: a line each, under a heading
	local lines
	mapfile -t lines < <(daemon leases)
	echo $((${#lines[@]} > 0 ? ${#lines[@]} - 1 : 0))
}
leases_are() { [ "$(leases)" = "$1" ]; }
claim_on() { bpftool map dump pinned "/sys/fs/bpf/sluice/$1/endpoints" 2>/dev/null | grep -q "\"local_port\": $2"; }
has_claim() { claim_on "$LOW_B" "$1"; }
echo_as() {
	LEASED_UID=$1
	bg sb "$BIN/echo" "$2" "$3"
	unset LEASED_UID
	wait_udp b "$3"
}

# Has b's daemon run over a NIC that takes rules for flows; the file STATE is the NIC's memory (tests/net/steering_nic.c).
# shellcheck disable=SC2034 # daemon_up's
on_steering_nic() { DAEMON_BY=("$BIN/steering_nic" "$STATE" "$DEV_B" "/var/run/netns/${NS}a" "$DEV_A"); }
daemon_ends() {
	local d
	d=$(daemon_pid)
	kill "$d" && wait_until 20 gone "$d" || die "the daemon does not end"
}
daemon_starts() { # policy
	daemon_up b "$1"
	wait_until 10 daemon_answers || die "no daemon answers"
}

lease_up() {
	need_built
	net_up "$@"
	MODE=leased
	wait_until 10 daemon_answers || die "no daemon answers"
}

# Asks b's daemon 5 times a second whether it lives, until alive_end, which reports the longest time that an answer took.
# (On a busy machine the question itself takes a while; a daemon that waits for a client takes longer than that.)
alive_watch() {
	: >"$TMP/alive"
	(
		export SLUICE_DAEMON=$TMP/sluiced.b
		exec {out}>>"$TMP/alive"
		while :; do # (one process a question: this goes on for most of a test)
			t=${EPOCHREALTIME/./}
			timeout 10 "$BUILD/sluice" daemon status >/dev/null 2>"$TMP/alive.err"
			rc=$?
			mapfile -t err <"$TMP/alive.err"
			echo "$rc $(((${EPOCHREALTIME/./} - t) / 1000)) ${err[*]: -1}" >&$out
			nap 200
		done
	) &
	ALIVE=$!
	PIDS+=("$ALIVE")
}
alive_end() { # what
	local n
	n=$(wc -l <"$TMP/alive")
	wait_until 12 eval '[ "$(wc -l <"$TMP/alive")" -gt "$n" ]' # a question that is asked from now on
	kill "$ALIVE"
	wait "$ALIVE" 2>/dev/null
	same "the daemon answers all the time: $1" "" "$(grep -v '^0 ' "$TMP/alive" | sort | uniq -c | head -n 3)"
	ok "and soon (at most $(cut -d' ' -f2 "$TMP/alive" | sort -n | tail -n 1) ms, asked $(wc -l <"$TMP/alive") times): $1" \
		test "$(cut -d' ' -f2 "$TMP/alive" | sort -n | tail -n 1)" -le 3000
}
go_on() { # what: asserts that each process of files is answered, past the kernel
	local n f
	offload_begin
	for f in "${files[@]}"; do
		n=$(answered "$f")
		ok "$1: $(basename "$f") is answered" wait_until 10 grows "$f" $((n + 200))
	done
	same "$1: past the kernel" 0 $(($(udp_stat b InDatagrams) - K_IN))
}
other_up() { # user: another group's server on b, which a process on a ($other) asks each millisecond
	LEASED_UID=$1
	bg sb "$BIN/echo" "$B4" 7001
	unset LEASED_UID
	wait_udp b 7001
	wait_until 10 has_claim 7001 || die "the other group is not offloaded"
	bg a "$BIN/steady" -i 1000 "$B4" 7001 "$TMP/other"
	other=$BG
	wait_until 20 grows "$TMP/other" 100 || die "no answers"
}
