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
	bg a tcpdump -i $DEV_A -U -w /tmp/hand-a.pcap port 6999; bg b tcpdump -i $DEV_B -U -w /tmp/hand-b.pcap port 6999; bg pa python3 "$TESTS/net/tcp_soak.py" server "$A4" 6999
	OTHER=$BG
	wait_tcp a 6999
	bg pb python3 "$TESTS/net/tcp_soak.py" client "$A4" 6999 3 >"$TMP/b" 2>&1
	SUBJECT=$BG
	sleep 1.5
	ok "$WHAT: done" b ip link set dev "$DEV_B" xdp off
	wait_until 8 gone $SUBJECT || diag; ok "$WHAT: it goes on" wait_end "$SUBJECT" 30
	pass "$WHAT: $(head -n 1 "$TMP/b")"
	stop "$OTHER"
done
done_testing
