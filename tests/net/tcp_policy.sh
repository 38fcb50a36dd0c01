#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Connections with checked bytes both ways follow what changes: a rule sends them to the kernel and,
# when it goes, back; the steering program is taken off; the device goes and another one leads to the
# peer. Not a byte is wrong, and no connection is reset.
. "$(dirname "$0")/lib_tcp.sh"
net_up
need "$BIN/tcp_swarm" bpftool
[ -e "$PRELOAD" ] || skip "the library is not built"
N=8
SLUICE=$BUILD/sluice
MODES=${MODES/kernel/}

# Connections of the port that a kernel has, without those that have ended.
kernels() { "$1" ss -Htn state connected exclude time-wait "( sport = :$2 or dport = :$2 )" | wc -l; }
has() { [ "$(kernels "$1" "$2")" "$3" "$4" ]; }
resets() { tcp_stat a EstabResets; }

# role, address family: the swarm is under way, and offloaded. It goes on until end().
begin() {
	local own=B$2 peer=A$2 args
	FAR=${FAR:-${!peer}}
	PORT=$((PORT + 1))
	args="$PORT $N $N $PORT 1500000"
	BEFORE=$(resets)
	rm -f "$TMP/end"
	# shellcheck disable=SC2086
	if [ "$1" = listen ]; then
		SWARM_HOLD=$TMP/end bg pb "$BIN/tcp_swarm" listen "${!own}" "$FAR" $args 0 >"$TMP/b" 2>&1
		SUBJECT=$BG
		wait_tcp b $PORT
		bg pa "$BIN/tcp_swarm" connect "$FAR" "${!own}" $args 0 >"$TMP/a" 2>&1
		OTHER=$BG
	else
		bg pa "$BIN/tcp_swarm" listen "$FAR" "${!own}" $args 0 >"$TMP/a" 2>&1
		OTHER=$BG
		wait_tcp a $PORT
		SWARM_HOLD=$TMP/end bg pb "$BIN/tcp_swarm" connect "${!own}" "$FAR" $args 0 >"$TMP/b" 2>&1
		SUBJECT=$BG
	fi
	wait_line "$TMP/b" "under way"
	same "$WHAT: offloaded" 0 "$(kernels b $PORT)"
}
end() {
	touch "$TMP/end"
	both_end "$WHAT" "$SUBJECT" "$OTHER" 120
	[ "$MODE" = both ] || same "$WHAT: no reset" "$BEFORE" "$(resets)"
}
export SWARM_US=4000
PORT=7100

for MODE in $MODES; do
	for how in "listen 4 server" "connect 6 client"; do
		read -r role fam name <<<"$how"
		WHAT="rules, $role, IPv$fam"
		begin "$role" "$fam"
		ok "$WHAT: a rule is added" b "$SLUICE" rule add --device "$DEV_B" use os "tcp_$name" '*:*'
		ok "$WHAT: they go to the kernel" wait_until 10 has b $PORT -gt 0
		ok "$WHAT: the rule is removed" b "$SLUICE" rule del --device "$DEV_B" 1
		ok "$WHAT: they come back" wait_until 20 has b $PORT -eq 0
		end
		WHAT="steering program taken off, $role, IPv$fam"
		begin "$role" "$fam"
		ok "$WHAT: done" b ip link set dev "$DEV_B" xdp off
		ok "$WHAT: they go to the kernel" wait_until 10 has b $PORT -gt 0
		end
	done
	# One that was just connecting when the program went has no answer, and none knows of it yet.
	WHAT="connecting while the steering program is taken off"
	bg pa python3 "$TESTS/net/tcp_soak.py" server "$A4" 6999
	OTHER=$BG
	wait_tcp a 6999
	bg pb python3 "$TESTS/net/tcp_soak.py" client "$A4" 6999 3 >"$TMP/b" 2>&1
	SUBJECT=$BG
	sleep 1.5
	ok "$WHAT: done" b ip link set dev "$DEV_B" xdp off
	ok "$WHAT: it goes on" wait_end "$SUBJECT" 30
	pass "$WHAT: $(head -n 1 "$TMP/b")"
	stop "$OTHER"
	# Two ways to the peer, the better one offloaded.
	ip -n "${NS}a" addr add 192.0.2.1/32 dev lo
	ip -n "${NS}b" addr add 192.0.2.2/32 dev lo
	ip link add v$$e netns "${NS}a" type veth peer name v$$f netns "${NS}b"
	addr_up a v$$e "$NET4.129/25"
	addr_up b v$$f "$NET4.130/25"
	ip -n "${NS}a" route add 192.0.2.2 via "$B4" metric 1
	ip -n "${NS}a" route add 192.0.2.2 via "$NET4.130" metric 2
	ip -n "${NS}b" route add 192.0.2.1 via "$A4" src 192.0.2.2 metric 1
	ip -n "${NS}b" route add 192.0.2.1 via "$NET4.129" src 192.0.2.2 metric 2
	SL_ENV+=("SLUICE_DEVICES=*,!v$$f")
	WHAT="device gone"
	FAR=192.0.2.1 begin connect 4
	ok "$WHAT: done" ip -n "${NS}b" link set "$DEV_B" down
	ip -n "${NS}a" link set "$DEV_A" down
	ok "$WHAT: they go to the kernel" wait_until 10 has b $PORT -gt 0
	end
	ip -n "${NS}b" link set "$DEV_B" up
	ip -n "${NS}a" link set "$DEV_A" up
	ip -n "${NS}a" addr add "$A6/64" dev "$DEV_A" nodad
	ip -n "${NS}a" link del v$$e
	ip -n "${NS}a" addr del 192.0.2.1/32 dev lo
	ip -n "${NS}b" addr del 192.0.2.2/32 dev lo
	ip -n "${NS}b" addr add "$B6/64" dev "$DEV_B" nodad
	SL_ENV=(SLUICE_TCP=1)
done
done_testing
