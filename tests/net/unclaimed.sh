#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Somebody takes claims out of the pinned maps by hand, under traffic with checked bytes both ways: connections go to the
# kernel, no byte of them is wrong, and none is reset. Datagrams come on by the kernel.
. "$(dirname "$0")/lib_tcp.sh"
net_up
. "$(dirname "$0")/lib_swarm.sh"
need bpftool python3 "$BIN/echo" "$BIN/steady"
datagrams() { b awk '/^Udp: [0-9]/ { print $2 }' /proc/net/snmp; }
taken() { python3 "$TESTS/net/unclaimed.py" "/sys/fs/bpf/sluice/$DEV_B" $PORT; }
for MODE in $MODES; do
	[ "$MODE:${MODES/*one*/one}" != both:one ] || continue
	guarded || say "left out, connections: $GUARD_NOTE"
	for how in "listen 4 server" "listen 6 server" "connect 4 client"; do
		guarded || break
		read -r role fam name <<<"$how"
		WHAT="claims taken out, IPv$fam $name"
		begin $role $fam
		n=$(taken)
		ok "$WHAT: $n" test "$n" -ge 1
		ok "$WHAT: they go to the kernel" wait_until 10 has b $PORT -gt 0
		end
	done
	PORT=$((PORT + 1))
	bg pb "$BIN/echo" "$B4" $PORT
	SUBJECT=$BG
	wait_udp b $PORT
	a "$BIN/steady" -n 200 "$B4" $PORT "$TMP/steady"
	n=$(taken)
	ok "datagrams: $n" test "$n" -ge 1
	before=$(datagrams)
	a "$BIN/steady" -n 200 "$B4" $PORT "$TMP/steady"
	read -r sent answered doubled wrong _ <"$TMP/steady"
	same "datagrams: sent, answered, twice, wrong" "200 200 0 0" "$sent $answered $doubled $wrong"
	ok "datagrams: they come by the kernel" test "$(datagrams)" -gt "$before"
	stop "$SUBJECT"
done
done_testing
