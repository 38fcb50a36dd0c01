#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# The XDP program is removed by hand under traffic: the traffic goes on through the kernel, until the library has
# attached the program again.
RX=xdp # (the test looks at XDP programs and sockets)
. "$(dirname "$0")/lib.sh"
net_up
# The program stands some time before its maps have the socket: traffic goes on beside the kernel.
bypasses() {
	local in n
	in=$(udp_stat b InDatagrams) n=$(answered "$TMP/steady")
	wait_until 5 grows "$TMP/steady" $((n + 20)) && [ $(($(udp_stat b InDatagrams) - in)) -le 2 ]
}
# By the tool everybody uses; where a bpf_link holds the program, by the link.
xdp_id() { b ip link show "$DEV_B" | sed -n 's/.* prog\/xdp id \([0-9]*\).*/\1/p'; }
remove_xdp() {
	local id index was
	was=$(xdp_id)
	b ip link set dev "$DEV_B" xdp off 2>/dev/null
	b ip link set dev "$DEV_B" xdpgeneric off 2>/dev/null
	[ "$(xdp_id)" = "$was" ] || return 0
	index=$(b cat "/proc/net/dev_snmp6/$DEV_B" | sed -n 's/^ifIndex[[:space:]]*//p')
	for id in $(b bpftool link show | awk -v dev="ifindex $DEV_B($index)" 'index($0, ": xdp") { id = $1 + 0 }
			index($0, dev) { print id }'); do
		bpftool link detach id "$id"
	done
	[ "$(xdp_id)" != "$was" ] # (it may be there anew)
}
for MODE in $MODES; do
	[ "$MODE" != kernel ] || continue
	for who in server client; do
		rm -f "$TMP/steady" # with LEASED=1 another user writes the file
		# The preloaded program on b answers in one round, and asks in the other.
		if [ $who = server ]; then
			bg pb "$BIN/echo" "$B4" 7000
			wait_udp b 7000
			server=$BG
			bg pa "$BIN/steady" "$B4" 7000 "$TMP/steady"
		else
			bg pa "$BIN/echo" "$A4" 7000
			wait_udp a 7000
			server=$BG
			bg pb "$BIN/steady" "$A4" 7000 "$TMP/steady"
		fi
		client=$BG
		wait_until 10 test -s "$TMP/steady" || die "no traffic"
		ok "$who: it is offloaded" wait_until 10 has_xdp
		ok "$who: the traffic bypasses the kernel" wait_until 10 bypasses
		offload_begin
		ok "$who: and goes on" wait_until 10 grows "$TMP/steady" $(($(answered "$TMP/steady") + 300))
		offload_end 300
		ok "$who: the program is removed" remove_xdp
		n=$(answered "$TMP/steady")
		in=$(udp_stat b InDatagrams)
		ok "$who: traffic goes on" wait_until 10 grows "$TMP/steady" $((n + 300))
		say "$who: $(($(udp_stat b InDatagrams) - in)) of them through the kernel"
		ok "$who: it is offloaded again" wait_until 20 has_xdp
		ok "$who: the traffic bypasses the kernel again" wait_until 20 bypasses
		stop $client
		read -r sent got doubled wrong failed gap <"$TMP/steady"
		same "$who: none doubled, wrong or failed" "0 0 0" "$doubled $wrong $failed"
		ok "$who: at most a few were lost of $sent (got $got, longest gap $gap ms)" \
			test $((sent - got)) -le 20
		stop $server
		wait_until 5 eval '! has_xdp'
	done
done
[ $PASSED -gt 0 ] || skip "the library is not built"
done_testing
