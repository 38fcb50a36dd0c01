#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# A preloaded program is killed (kill -9) under traffic and started again: other programs of the host lose nothing, and
# nothing of the dead program stays behind.
. "$(dirname "$0")/lib.sh"
net_up
has_xdp() { b ip link show | grep -q "${STEERED}"; }
STEERED=": sluice[0-9]" # (a lane's private device)
[ "${RX:-}" != xdp ] || STEERED=xdp
# A program takes the device first, then opens the lane, then claims the socket's packets: with the claim all is done.
has_claim() { has_xdp && bpftool map dump pinned "/sys/fs/bpf/sluice/$DEV_B/endpoints" 2>/dev/null | grep -q '"local_port": 7000'; }
for MODE in $MODES; do
	[ "$MODE" != kernel ] || continue
	# The bystander has kernel sockets on both sides, on the same device, and sends a datagram each ms.
	bg b "$BIN/echo" "$B4" 7100
	other=$BG
	wait_udp b 7100
	rm -f "$TMP/bystander"
	bg a "$BIN/steady" -i 1000 "$B4" 7100 "$TMP/bystander"
	bystander=$BG
	rm -f "$TMP/steady"
	bg pa "$BIN/steady" -i 1000 "$B4" 7000 "$TMP/steady"
	client=$BG
	for round in 1 2 3; do
		bg pb "$BIN/echo" "$B4" 7000
		server=$BG
		wait_udp b 7000
		ok "round $round: offloaded" wait_until 10 has_claim
		# Each look takes its time, and what the bystander gets meanwhile is not to count as ours.
		by=$(answered "$TMP/bystander")
		offload_begin
		n=$(answered "$TMP/steady")
		ok "round $round: answers come" wait_until 10 grows "$TMP/steady" $((n + 500))
		in=$(($(udp_stat b InDatagrams) - K_IN))
		in=$((in - ($(answered "$TMP/bystander") - by)))
		ok "round $round: not by way of the kernel ($in of 500)" test $in -le 200
		kill -9 "$server"
		wait "$server" 2>/dev/null
		# A plain program takes the dead one's port: what was claimed must be free.
		bg b "$BIN/echo" "$B4" 7000
		plain=$BG
		wait_udp b 7000
		n=$(answered "$TMP/steady")
		ok "round $round: a plain program has the port" wait_until 10 grows "$TMP/steady" $((n + 200))
		ok "round $round: no XDP program is left" wait_until 10 not has_xdp
		ok "round $round: no pins are left" wait_until 10 test ! -e "/sys/fs/bpf/sluice/$DEV_B"
		stop $plain
	done
	stop "$client" "$bystander"
	read -r _ _ doubled wrong _ <"$TMP/steady"
	same "none doubled, none wrong" "0 0" "$doubled $wrong"
	read -r sent got doubled wrong failed _ <"$TMP/bystander"
	ok "the bystander asked ($sent)" test "$sent" -gt 1000
	# (The last question may still be on its way.)
	ok "the bystander lost nothing (sent $sent, answered $got)" test $((sent - got)) -le 1
	same "the bystander: none doubled, wrong or failed" "0 0 0" "$doubled $wrong $failed"
	stop "$other"
done
[ $PASSED -gt 0 ] || skip "the library is not built"
done_testing
