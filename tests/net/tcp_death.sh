#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# A program dies without a word (kill -9, a fault, an exit in the middle of a call, for lack of memory): the
# peers of its connections see what the kernel's would have, in each state, TIME_WAIT is kept where it would
# be, and the port can be used at once; with the embedded broker and with the daemon.
. "$(dirname "$0")/lib.sh"
need python3 setpriv
net_up
# (A host that has just answered a segment outside of the window, a keep-alive probe, is silent for a while.)
a sysctl -qw net.ipv4.tcp_invalid_ratelimit=60000
ASAN_LOG+=:handle_segv=0 # (a program that is to die of a fault must die of it, and is no finding)
CGROUP=/sys/fs/cgroup/memory/$NS
mkdir "$CGROUP" 2>/dev/null && echo 16M >"$CGROUP/memory.limit_in_bytes" 2>/dev/null || CGROUP=
trap 'RC=$?; rmdir "$CGROUP" 2>/dev/null; (exit $RC); at_exit' EXIT
CAUSES="kill segv exit ${CGROUP:+oom}"
[ -n "$CGROUP" ] || say "no cgroup for memory (v1) can be made here: not killed for lack of it"
export TCP_DEATH_PORT=7000
# Prints what the peer says, then how many connections of b are in TIME_WAIT.
dies() { # cause, own address, peer's
	local group=-
	[ "$1" != oom ] || group=$CGROUP
	a timeout 60 python3 "$TESTS/net/tcp_death.py" peer "$3" "$2" "$group" 2>"$TMP/told" || return
	wait_until 10 gone "$BG"
	echo "TIME_WAIT: $(b ss -Htan state time-wait "( sport = :$TCP_DEATH_PORT or dport = :$((TCP_DEATH_PORT + 1)) )" | wc -l)"
	b python3 "$TESTS/net/tcp_death.py" again "$2"
}
one_run() { # host command of the subject
	local cause fam own peer
	for cause in $CAUSES; do
		for fam in ${FAMILIES:-4 6}; do
			own=B$fam peer=A$fam
			TCP_DEATH_PORT=$((TCP_DEATH_PORT + 2))
			(in_ns "$1" python3 "$TESTS/net/tcp_death.py" subject "${!own}" "${!peer}" "$cause") 2>/dev/null &
			BG=$!
			PIDS+=("$BG")
			differ "$cause$fam" dies "$cause" "${!own}" "${!peer}"
			say "$(cat "$TMP/told")"
			{ wait "$BG"; } 2>/dev/null
		done
	done
}
# Again and again from one port: a TIME_WAIT of the kernel's is no answer. The last has asked whether its peer lives.
same_port() { # host command of the subject
	local i
	TCP_DEATH_PORT=$((TCP_DEATH_PORT + 1000)) # (in a subshell: differ's) none of the others
	for i in 1 2 3 4; do
		(in_ns "$1" python3 "$TESTS/net/tcp_death.py" brief "$B4" $((i / 4))) 2>/dev/null &
		BG=$!
		PIDS+=("$BG")
		echo "$i: $(a timeout 60 python3 "$TESTS/net/tcp_death.py" same "$A4" "$B4" $((i / 4)))"
		{ wait "$BG"; } 2>/dev/null || : # killed
	done
}
for MODE in $MODES; do
	[ "$MODE" != both ] || continue
	one_run "$(by_mode pb)"
	differ same same_port "$(by_mode pb)"
done
if [ -e "$PRELOAD" ]; then
	LEASED=1
	umask 0
	daemon_up b
	MODE=leased
	one_run sb
	differ same same_port sb
fi
done_testing
