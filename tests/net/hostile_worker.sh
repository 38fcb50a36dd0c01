#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# A worker that has given up its privileges is taken over, and attacks the server that forked it by everything that the
# server shares with it: the server goes on, its data are right, accept() returns connections alone, and nothing spins.
. "$(dirname "$0")/lib_tcp.sh"
need python3 setpriv bpftool
LEASED_UID=60733 # (as NOBODY in hostile_worker.c)
net_up
need_built
export TMP
PORT=7600
ticks() { awk '{ print $14 + $15 }' "/proc/$1/stat"; } # 100 a second
client() { a timeout 60 python3 "$TESTS/net/hostile_worker.py" "$@" >"$TMP/client" 2>&1; }
served() { # NAME SERVER PORT SECONDS WHEN
	if client "$B4" "$3" "$4"; then pass "$1: serves $5"; else fail "$1: does not serve $5: $(tail -n 1 "$TMP/client")"; fi
}
all() { # COMMAND...: with each server
	local name
	for name in "${NAMES[@]}"; do "$@" "$name" "${PID[$name]}" "${AT[$name]}"; done
}
begin() { # STYLE.ATTACK
	PORT=$((PORT + 2))
	bg pb "$BIN/hostile_worker" "$B4" $PORT "${1%.*}" "${1#*.}" >"$TMP/$1"
	NAMES+=("$1") PID[$1]=$BG AT[$1]=$PORT
	wait_tcp b $PORT
}
meanwhile() { served "$@" 0.2 "meanwhile"; }
afterwards() {
	wait_until 40 grep -q attacked "$TMP/$1" || fail "$1: the worker does not end its attack"
	served "$@" 0 "afterwards"
	ok "$1: the server lives" kill -0 "$2"
}
look() { BEFORE[$1]=$(ticks "$2"); }
rests() { ok "$1: the server rests" test $(($(ticks "$2") - BEFORE[$1])) -lt 35; }
# A letter that was followed would have made it the kernel's.
stays() {
	case $1 in *.kinds) ok "$1: the socket that letters named is the server's still" udp_claimed "$3" ;; esac
}
udp_claimed() {
	bpftool -j map dump pinned "/sys/fs/bpf/sluice/$DEV_B/endpoints" 2>/dev/null |
		grep -q "\"local_port\":$1,\"proto\":17"
}
finish() {
	a python3 "$TESTS/net/hostile_worker.py" end "$B4" "$3"
	if wait_end "$2" 20; then pass "$1: $(tail -n 1 "$TMP/$1")"; else fail "$1: $(tail -n 1 "$TMP/$1")"; fi
	same "$1: nothing was written that is for reading" "" "$(grep "for reading" "$TMP/$1")"
	say "$(grep "^seed" "$TMP/$1")"
}
MODE=one
declare -A PID AT BEFORE
together() { # ATTACK.STYLE... by a server each; the first has the device
	NAMES=()
	for name; do begin "${name#*.}.${name%.*}"; done
	all meanwhile
	all afterwards
	all stays
	all look
	nap 700
	all rests
	all finish
}
meet
[ -n "${ATTACKS:-}" ] || together kinds.epoll
# With ALONE each server has the device in its turn, without the daemon, too.
for attack in ${ALONE:+${ATTACKS:-}}; do together "$attack"; done
# shellcheck disable=SC2086
[ -n "${ALONE:-}" ] || together ${ATTACKS:-$(echo {letters,rights,flood,crowd}.epoll {box,options,shut}.{epoll,block})}
done_testing
