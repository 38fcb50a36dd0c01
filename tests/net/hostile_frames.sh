#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Frames that a station forges below and around IP (addresses, tags, lengths, fragments), and virtio headers that lie about
# what a device is still to do (a host of the same machine writes them). What an offloaded program gets is what the
# kernel gives it, no more.
. "$(dirname "$0")/lib.sh"
net_up
need python3
MAC_B=$(ip -n "${NS}b" -j link show "$DEV_B" | sed 's/.*"address":"\([^"]*\)".*/\1/')
mac_a=$(ip -n "${NS}a" -j link show "$DEV_A" | sed 's/.*"address":"\([^"]*\)".*/\1/')
for how in "$A4" "$A6"; do ip -n "${NS}b" neigh replace "$how" lladdr "$mac_a" dev "$DEV_B" nud permanent; done
b sysctl -qw net.core.somaxconn=8192 net.ipv4.tcp_max_syn_backlog=16384 net.ipv4.tcp_syncookies=0
# By XDP the driver says, from Linux 6.3 on, which checksums are unfinished; before, a packet whose sum is that of its
# pseudo-header alone is taken.
[ "${RX:-packet}" = xdp ] || more="unfinished virtio"
[ -n "${more:-}" ] || ! grep -q ' bpf_cast_to_kern_ctx$' /proc/kallsyms || more=unfinished
WHAT=${WHAT:-link lengths fragments ${more:-}}
run() { # file for what is delivered
	local receiver
	bg pb python3 "$TESTS/net/hostile_frames.py" receive "$B4" "$B6" >"$TMP/got"
	receiver=$BG
	bg a python3 "$TESTS/net/hostile_frames.py" answers "$DEV_A" >"$TMP/answers"
	wait_line "$TMP/got" ready
	wait_line "$TMP/answers" ready
	offload_begin
	a python3 "$TESTS/net/hostile_frames.py" send "$DEV_A" "$MAC_B" "$A4" "$B4" "$A6" "$B6" $WHAT >"$TMP/ports"
	wait_end "$receiver"
	same "the receiver came to its end" 0 $?
	[ "$MODE" = kernel ] || ok "$(($(udp_stat b InDatagrams) - K_IN)) of $(wc -l <"$TMP/got") datagrams by the kernel" \
		test $(($(udp_stat b InDatagrams) - K_IN)) -lt 100
	nap 50
	stop "$BG"
	awk '$1 == "port" { n = $2; sub(/^port [0-9]+ /, ""); name[n] = $0; next } $1 == "answer" { if (seen[$2]++) next
		$0 = "answer " name[$2] } 1' "$TMP/ports" "$TMP/got" "$TMP/answers" | grep -v "^ready" | sort >"$1"
}
MODE=kernel
run "$TMP/kernel"
ok "$(wc -l <"$TMP/kernel") frames have an effect by the kernel" test "$(wc -l <"$TMP/kernel")" -gt 90
MODE=one
run "$TMP/one"
diff "$TMP/kernel" "$TMP/one" >"$TMP/diff"
ok "nothing else has an effect here" not grep -q "^>" "$TMP/diff"
head -n "${SHOW:-60}" "$TMP/diff"
# (The kernel cuts a packet of datagrams to what UDP's header says; here it is dropped: 13 of those that are sent.)
ok "nothing is missing" test "$(grep -c "^<" "$TMP/diff")" -le 13
done_testing
