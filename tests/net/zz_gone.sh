#!/usr/bin/env bash
. /tmp/hand-diag.sh
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
resets() { a awk '$1 == "Tcp:" && !n { for (i = 2; i <= NF; i++) if ($i == "EstabResets") n = i; next }
	$1 == "Tcp:" { print $n }' /proc/net/snmp; }

# role, address family: the swarm is under way, and offloaded
begin() {
	local own=B$2 peer=A$2 args
	FAR=${FAR:-${!peer}}
	PORT=$((PORT + 1))
	args="$PORT $N $N $PORT ${SIZE:-3000000}"
	BEFORE=$(resets)
	# shellcheck disable=SC2086
	if [ "$1" = listen ]; then
		SWARM_US=4000 bg pb "$BIN/tcp_swarm" listen "${!own}" "$FAR" $args 0 >"$TMP/b" 2>&1
		SUBJECT=$BG
		wait_tcp b $PORT
		SWARM_US=4000 bg pa "$BIN/tcp_swarm" connect "$FAR" "${!own}" $args 0 >"$TMP/a" 2>&1
		OTHER=$BG
	else
		SWARM_US=4000 bg pa "$BIN/tcp_swarm" listen "$FAR" "${!own}" $args 0 >"$TMP/a" 2>&1
		OTHER=$BG
		wait_tcp a $PORT
		SWARM_US=4000 bg pb "$BIN/tcp_swarm" connect "${!own}" "$FAR" $args 0 >"$TMP/b" 2>&1
		SUBJECT=$BG
	fi
	sleep 0.7
	same "$WHAT: offloaded" 0 "$(kernels b $PORT)"
}
end() {
	wait_end "$SUBJECT" 120 || fail "$WHAT: the subject failed: $(cat "$TMP/b")"
	wait_end "$OTHER" 60 || fail "$WHAT: the peer failed: $(cat "$TMP/a")"
	pass "$WHAT: $(cat "$TMP/b")"
	[ "$MODE" = both ] || same "$WHAT: no reset" "$BEFORE" "$(resets)"
}
PORT=7100

for MODE in one both one one one both one one one one; do
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
	bg a /usr/bin/tcpdump -n -s 80 -i any -U -w $TMP/hg-a.pcap "tcp[13] & 7 != 0"
	bg b /usr/bin/tcpdump -n -s 80 -i any -U -w $TMP/hg-b.pcap "tcp[13] & 7 != 0"
	FAR=192.0.2.1 begin connect 4
	ok "$WHAT: done" ip -n "${NS}b" link set "$DEV_B" down
	ip -n "${NS}a" link set "$DEV_A" down
	ok "$WHAT: they go to the kernel" wait_until 10 has b $PORT -gt 0
	end
	if grep -q ZZ $TMP/sluice*.log || [ $FAILED -gt 0 ]; then cp $TMP/hg-*.pcap $TMP/sluice*.log /tmp; break; fi
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
