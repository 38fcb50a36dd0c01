#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Packets of a VLAN whose tag is not in the frame (veth, NICs that take it off) are not taken for ours: their address
# belongs to another host. A priority tag is no VLAN.
. "$(dirname "$0")/lib.sh"
need tc socat
net_up
text() { a socat -u - "UDP4:$B4:7000" <<<"$1"; }
tagging() { # section of the program, or nothing
	a tc filter del dev "$DEV_A" egress 2>/dev/null
	[ -z "$1" ] || a tc filter add dev "$DEV_A" egress bpf da obj "$BIN/pushvlan.bpf.o" sec "$1"
}
a tc qdisc add dev "$DEV_A" clsact || skip "no clsact"
for MODE in $MODES; do
	[ "$MODE:${MODES/*one*/one}" != both:one ] || continue
	out=$TMP/out.$MODE
	bg pb socat -u UDP4-RECV:7000 "OPEN:$out,creat"
	wait_udp b 7000
	text plain
	ok "untagged comes" wait_line "$out" plain
	offload_begin
	tagging tc7 || skip "no program that pushes tags"
	text tagged
	text tagged
	tagging tc0
	text priority
	tagging ''
	text end
	ok "all that is ours has come" wait_line "$out" end
	same "and nothing else has" "plain priority end" "$(tr '\n' ' ' <"$out" | sed 's/ $//')"
	[ "$MODE" = kernel ] || same "past the kernel" 0 "$(($(udp_stat b InDatagrams) - K_IN))"
	stop "$BG"
done
done_testing
