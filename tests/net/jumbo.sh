#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Devices whose MTU is more than a frame holds: longer packets come in several frames. Where that cannot be (before
# Linux 6.6, on virtio_net, when the MTU is raised under the program) they are left to the kernel, whole; all else is
# offloaded.
. "$(dirname "$0")/lib_tcp.sh"
need python3
MOST=${MOST:-9000} BEYOND_2048=0
# (Before Linux 6.6 an XSK got the first buffer only: devices whose packets need several are not offloaded there.)
kernel_is 6.6 || MOST=3000
kernel_is 6.6 && [ -z "${LINKS:-}" ] || BEYOND_2048=80
net_up -m $MOST
mtu() { # sets the MTU of both devices
	ip -n "${NS}a" link set "$DEV_A" mtu "$1" && ip -n "${NS}b" link set "$DEV_B" mtu "$1" || die "no MTU of $1"
}
large_only() { # WHAT N: exactly N datagrams came by b's kernel: 20 of each length that is too long
	same "$1: the kernel's share of the datagrams is what is too large" "$2" "$(($(udp_stat b InDatagrams) - K_IN))"
}
raise() { # raises the MTU while the program runs
	rm -f "$TMP/ready" "$TMP/go"
	(wait_until 30 test -e "$TMP/ready" && mtu 3000 && : >"$TMP/go") &
}
flow() { b "$BUILD/sluice" flow -k "$SLUICE_STATS_SHMEM_DIR" "$1" -p "$SERVER" --remote "$A4:*" >/dev/null; }
kernels() { [ "$(b ss -Htn state established "( sport = :7300 or dport = :7301 )" | wc -l)" = "$1" ]; }
client() { # connects to the greeter on b, and stays connected
	bg a python3 -c 'import socket, sys, time
c = socket.create_connection((sys.argv[1], 7300))
open(sys.argv[2], "wb").write(c.recv(1))
time.sleep(60)' "$B4" "$TMP/greeted"
	wait_until 20 test -s "$TMP/greeted"
	rm "$TMP/greeted"
}
# A connection that began with the kernel, which told the peer too large an MTU, stays the kernel's; one of ours comes back.
stays() { wait_until 10 kernels 1 && sleep 1 && kernels 1; }
follows() { wait_until 10 kernels 0; }
takes() { # END [MTU]: END: what becomes of the connection that began with the kernel; MTU: set while the program runs
	rm -f "$TMP/go"
	bg a python3 "$TESTS/net/greeter.py" "$A4" 7301
	local peer=$BG
	wait_tcp a 7301
	bg sb python3 "$TESTS/net/greeter.py" "$B4" 7300 "$A4" 7301 "$TMP/go"
	SERVER=$BG
	wait_tcp b 7300
	[ -z "${2:-}" ] || mtu "$2"
	client
	ok "a connection: offloaded" kernels 0
	ok "handed back" flow hand-back
	ok "the kernel has it" kernels 1
	ok "taken over" wait_until 20 flow take-over
	ok "it is back" kernels 0
	ok "a rule takes it off" b "$BUILD/sluice" rule add --device "$DEV_B" use os tcp_server "*:7300"
	ok "the kernel has it" wait_until 10 kernels 1
	ok "a rule for another one" b "$BUILD/sluice" rule add --device "$DEV_B" use os tcp_client "$A4:7301"
	: >"$TMP/go"
	ok "which the kernel has" wait_until 10 kernels 2
	ok "no second rule" b "$BUILD/sluice" rule del --device "$DEV_B" 2
	ok "no rule" b "$BUILD/sluice" rule del --device "$DEV_B" 1
	ok "the first one comes back, the second one $1" "$1"
	stop "$SERVER"
	stop "$peer"
	rm "$TMP/go"
}
reflect() {
	bg pa python3 "$TESTS/net/reflector.py" "${!peer}" 7000 1
	reflector=$BG
	wait_udp a 7000
}
lengths() { # WHAT BEYOND [ARGS...]: BEYOND of the datagrams do not fit into a frame
	local what=$1 beyond=$2
	shift 2
	offload_begin
	local out
	out=$(udp_stat b OutDatagrams)
	differ "$what" pb python3 "$TESTS/net/jumbo.py" "${!own}" "${!peer}" 7000 "$@"
	[ "$MODE" = kernel ] || large_only "$what" "$beyond"
	[ "$MODE" = kernel ] || [ "$beyond" != 0 ] || same "$what: sent by the kernel" 0 "$(($(udp_stat b OutDatagrams) - out))"
}
# Asserts that frames have the size that the device needs, where that is possible.
whole() { # BEYOND [NAME]
	reflect
	lengths "jumbo${2:-}$fam" "$1"
	stop "$reflector"
	tcp_round wire "wire${2:-}" 10 1000000
}
# A child reads through the kernel's queue the datagrams that waited in ours.
inherited() {
	rm -f "$TMP/ready"
	(wait_until 30 test -e "$TMP/ready" && a python3 "$TESTS/net/jumbo_fork.py" send "${!own}" 7010) &
	differ "inherited$fam" pb python3 "$TESTS/net/jumbo_fork.py" read "${!own}" 7010 "$TMP/ready"
}
# (A device that has our program takes no other MTU of over 3,500.)
raised() {
	mtu 1500
	reflect
	raise
	lengths "raised$fam" 80 "$TMP/ready" "$TMP/go"
	stop "$reflector"
	mtu $MOST
}
for MODE in $MODES; do
	for fam in ${FAMILIES:-4 6}; do
		peer=A$fam own=B$fam
		whole 0
		inherited
		# (In zero-copy mode longer packets are lost, and the log says so.)
		[ -n "${LINKS:-}" ] && [ "${SLUICE_ZEROCOPY:-}" != off ] || raised
		[ -z "${LEASED:-}" ] || continue # (frames are the daemon's)
		SL_ENV=(SLUICE_FRAME_SIZE=2048)
		whole $BEYOND_2048 2048.
		SL_ENV=()
	done
done
MODE=one
if [ -z "${LEASED:-}" ]; then
	[ "$BEYOND_2048" != 0 ] || takes follows
	mtu 1500
	takes stays 3000
	mtu $MOST
fi
udp_differ mtu 1 ''
done_testing
