#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# The NIC makes checksums and segments for the verbs backend, or software does where the NIC cannot: every frame that
# left is checked in the NIC's capture file.
VERBS=1
. "$(dirname "$0")/lib.sh"
. "$TESTS/sim/lib_stream.sh"
net_up
MODE=simulated
SIM=$TMP/nic.a
SIM_CAPTURE=$TMP/capture.pcap
SL_ENV=("SIM_NIC_CAPTURE=$SIM_CAPTURE")
SIZE=4000000
head -c $SIZE /dev/urandom >"$TMP/stream"
SUM=$(sha256sum <"$TMP/stream")

bulk() { # what, address: sends by the NIC, whose frames are in $TMP/wire
	stream "$1" "$2"
	ok "$1: by verbs" grep -q 'by verbs (simulated0' "$TMP"/sluice.*.log
	same "$1: doorbells as the record says" 0 "$(counted bells_wrong)"
	python3 "$TESTS/sim/capture.py" "$SIM_CAPTURE" contents >"$TMP/wire"
	same "$1: checksums and lengths" 0 "$(wire wrong)"
}

for address in "$B4" "$B6"; do
	bulk "$address" "$address"
	cut=$(counted segments)
	ok "$address: the NIC has cut most segments, $cut of $(wire tcp_data)" test "$cut" -gt $(($(wire tcp_data) / 2))
	same "$address: what the IP ID is" 0 "$(wire ip_id_jumps)"
	ok "$address: PSH on few, $(wire tcp_psh)" test "$(wire tcp_psh)" -lt $(($(wire tcp_data) / 4)) -a "$(wire tcp_psh)" -ge 1
done
SIM_OPTIONS=min_inline=18
bulk "a NIC that wants headers inline" "$B4"
ok "it has cut $(counted segments)" test "$(counted segments)" -gt 100
SIM_OPTIONS=tso=0
bulk "a NIC without TSO" "$B4"
same "it has cut nothing" 0 "$(counted segments)"
SIM_OPTIONS=csum=0
bulk "a NIC without checksums" "$B6"
same "without checksums it cannot cut" 0 "$(counted segments)"
SIM_OPTIONS=
SL_ENV+=(SLUICE_TX_REQUESTS=ibv)
bulk "by libibverbs" "$B6"
ok "by libibverbs: it has cut $(counted segments)" test "$(counted segments)" -gt 100
SL_ENV=("SIM_NIC_CAPTURE=$SIM_CAPTURE" SLUICE_TSO=0)
bulk "not wanted" "$B4"
same "not wanted: it has cut nothing" 0 "$(counted segments)"
SL_ENV=("SIM_NIC_CAPTURE=$SIM_CAPTURE")

# UDP: the kernel answers each datagram, and checks its checksum; a socket may send datagrams without one.
fresh
bg b "$BUILD/tests/net/echo" "$B4" 7000
ECHO=$BG
wait_udp b 7000
sa python3 - "$B4" 7000 <<-'EOF' >"$TMP/answers"
	import socket, sys
	s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
	s.settimeout(5)
	good = 0
	for n in list(range(0, 1472, 13)) + [1472]:
	    if n == 650:
	        s.setsockopt(socket.SOL_SOCKET, 11, 1)  # SO_NO_CHECK
	    text = bytes(i * 7 & 255 for i in range(n))
	    s.sendto(text, (sys.argv[1], int(sys.argv[2])))
	    good += s.recv(2000) == text
	print(good)
EOF
same "UDP: all are answered as they were" 115 "$(cat "$TMP/answers")"
stop "$ECHO"
python3 "$TESTS/sim/capture.py" "$SIM_CAPTURE" contents >"$TMP/wire"
same "UDP: checksums and lengths" 0 "$(wire wrong)"
same "UDP: those that were to have none" 65 "$(wire udp_without_sum)"

# Retransmissions, also large ones, have the right contents.
SIM_OPTIONS=lose=40
bulk "with loss" "$B4"
SIM_OPTIONS=
ok "with loss: sent again by the NIC, $(wire tcp_again)" test "$(wire tcp_again)" -gt 20
least=1000
[ "$(nproc)" -gt 1 ] || least=200 # (on one core a turn has few segments to send: 590 of 2,763 were cut by the NIC)
ok "with loss: the NIC has cut $(counted segments)" test "$(counted segments)" -gt $least

for fault in "fail 20 4" "fail 40 21" unplug; do
	stream_fails "$fault" "$fault"
	[ -d "$SIM/unplugged" ] && mv "$SIM/unplugged" "$SIM/sys/class/infiniband_verbs/uverbs0"
done
done_testing
