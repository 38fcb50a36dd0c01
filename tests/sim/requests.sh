#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# The library itself or libibverbs makes the verbs backend's requests (TX_REQUESTS): both are tried on every kind of
# device; an independent receiver checks the wire, and the NIC the doorbell's registers.
. "$(dirname "$0")/lib.sh"
sim_need
net_up
IBV=1 DIRECT=2

nothing_bad() { ! grep -E '^udp_bad' "$TMP/received" | grep -qv ' 0$'; }
sends() { # what, packets, arguments of requests..
	local what=$1 n=$2
	shift 2
	receive "udp=$n"
	ok "$what: sent" sim env "${ENV[@]}" "$SIM_BIN/requests" "$DEV_A" "count=$n" "$@" >"$TMP/sent" 2>"$TMP/err"
	received >"$TMP/seen"
	same "$what: all of them" "$n" "$(value udp_frames)"
	ok "$what: content, order and checksums" nothing_bad
	same "$what: nothing failed" 0 "$(counted errors)"
	same "$what: doorbells as the record says" 0 "$(counted bells_wrong)"
	ok "$what: the NIC saw $(counted bells)" test "$(counted bells)" -ge 1
}
direct() { sed -n 's/^direct //p' "$TMP/sent"; }
ENV=(SLUICE=)

for options in min_inline=0 min_inline=18; do
	for way in $IBV $DIRECT; do
		sim_up "$options"
		sends "$options, way $way" 1500 requests="$way" dm=16384
		same "$options, way $way: who makes them" $((way == DIRECT)) "$(direct)"
		ok "$options, way $way: $(counted dm_sends) by the device's memory" test "$(counted dm_sends)" -gt 200
	done
done
sim_up min_inline=18
sends "nothing inline" 500 requests="$DIRECT" inline=0
same "nothing inline: none is" 0 "$(counted inline_bytes)"

# A small packet alone is in the doorbell. (All are signalled: no request that sends nothing follows.)
for way in $IBV $DIRECT; do
	sim_up
	sends "BlueFlame, way $way" 500 requests="$way" signal=1
	same "BlueFlame, way $way: there is" 1 "$(counted blue_flames)"
done
sim_up
sends "no BlueFlame" 500 requests="$DIRECT" bf=0 signal=1
same "no BlueFlame: there is none" 0 "$(counted blue_flames)"

# Completion entries of 128 bytes: only their second half counts.
for way in $IBV $DIRECT; do
	sim_up
	ENV=(MLX5_CQE_SIZE=128)
	sends "large completions, way $way" 500 requests="$way"
	ENV=(SLUICE=)
done

# The number of a request has 16 bits, the ring goes round at all places.
sim_up
sends "round" 40000 requests="$DIRECT" depth=1024
ok "round: over 65,536 blocks" test "$(counted blocks)" -gt 65536

# libmlx5 can make requests in a form that we do not know (signed): then libmlx5 makes them.
sim_up
ENV=(MLX5_QP_SIGNATURE=1)
sends "signed" 200 requests=0
same "signed: libibverbs makes them" 0 "$(direct)"
refused() {
	! sim env "${ENV[@]}" "$SIM_BIN/requests" "$DEV_A" requests="$DIRECT" 2>"$TMP/err" &&
		grep -q 'requests: libmlx5 makes them otherwise' "$TMP/err"
}
ok "signed, and the library is to: it does not" refused
done_testing
