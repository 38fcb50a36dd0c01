#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Link-local peers on two devices of one listener: answers leave by the device by which the peer came, which is also the
# scope in the socket's names. A listener with SO_BINDTODEVICE passes that option on to its connections.
MODES=${MODES:-oracle one}
MODES=${MODES/both/one}
. "$(dirname "$0")/lib_tcp.sh"
net_up -c
LOCAL=fe80::b # (b's address on both devices, so only the device tells which peer a packet is from)
ip -n "${NS}a" addr add fe80::a/64 dev "$DEV_A" nodad
ip -n "${NS}c" addr add fe80::c/64 dev "$DEV_C" nodad
ip -n "${NS}b" addr add $LOCAL/64 dev "$DEV_B" nodad
ip -n "${NS}b" addr add $LOCAL/64 dev "$DEV_BC" nodad
peer() { # host, its device, ports
	segs_begin
	differ "$1" "$1" python3 "$TESTS/net/tcp_linklocal.py" peer "$2" $LOCAL "${@:3}"
	segs_end "$1" 35 # (some of the connections are handed to the kernel)
}
for MODE in $MODES; do
	meet
	bg pb python3 "$TESTS/net/tcp_linklocal.py" subject "$DEV_B" "$DEV_BC" $LOCAL
	subject=$BG
	wait_tcp b 7002
	peer a "$DEV_A" 7000 7001
	peer c "$DEV_C" 7000 7002
	stop "$subject"
done
done_testing
