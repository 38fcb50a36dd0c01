#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# VLAN devices, one tag and two, over a NIC: their packets leave by verbs with the tags in them, inline or not, with the
# NIC's checksums and segments, paced by the NIC and by the wheel. A device that stays with the kernel is named in the
# log. Every frame is checked in the capture file, and the other host takes only those of its own VLAN.
if [ -z "${VLANS:-}" ]; then
	rc=0
	for VLANS in 5 "100 5" "100ad 5"; do
		[ -z "${SHORT:-}" ] || [ "$VLANS" = 5 ] || continue
		echo "== VLAN $VLANS"
		VLANS=$VLANS bash "$0" || rc=$?
		[ $rc = 0 ] || exit $rc
	done
	exit 0
fi
. "$(dirname "$0")/lib_pace.sh"
. "$TESTS/net/lib_pace.sh"
. "$TESTS/sim/lib_stream.sh"
# The simulated cable is a socket of AF_PACKET, which takes no longer frames for a tag of 802.1ad.
[ "${VLANS#*ad}" = "$VLANS" ] || for h in a b; do
	dev=DEV_${h^}
	"$h" ip link set "${!dev}" mtu 1492
done
SIM=$TMP/nic.a
CAPTURE="SIM_NIC_CAPTURE=$TMP/capture.pcap"
SL_ENV=("$CAPTURE")
looked_at() { # what
	python3 "$TESTS/sim/capture.py" "$TMP/capture.pcap" contents >"$TMP/wire"
	same "$1: the tags of all $(wire frames) frames" "$VLANS" "$(wire tags)"
	same "$1: checksums and lengths" 0 "$(wire wrong)"
	same "$1: none is dropped" 0 "$(counted drops | sort -u)"
}

# Sends datagrams, the short ones inside their requests; the kernel answers. Prints how many answers are right.
answers() { # host, address, bytes, how many: those that are right
	"$1" python3 - "$2" 7000 "$3" "$4" <<-'EOF'
		import socket, sys
		s = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
		s.settimeout(5)
		text = bytes(i * 7 & 255 for i in range(int(sys.argv[3])))
		good = 0
		for n in range(int(sys.argv[4])):
		    s.sendto(text, (sys.argv[1], int(sys.argv[2])))
		    good += s.recv(2000) == text
		print(good)
	EOF
}
bg b "$BUILD/tests/net/echo" "::" 7000
ECHO=$BG
wait_udp b 7000
for address in "::ffff:$B4" "$B6"; do
	answers a "$address" 18 1 >/dev/null # (makes the neighbour known)
	for size in 18 1200; do
		fresh
		what="UDP of $size bytes to ${address#::ffff:}"
		same "$what: answered" 200 "$(answers sa "$address" $size 200)"
		looked_at "$what"
		# (The first may go by the kernel, until the keeper has seen that neighbour.)
		ok "$what: by the NIC" test "$(wire frames)" -ge 20
		inline=$(counted inline_bytes)
		if [ $size = 18 ]; then
			ok "$what: inline, $inline bytes" test "$inline" -ge $(($(wire frames) * 60))
		else
			same "$what: not inline" 0 "$inline"
		fi
	done
done
stop "$ECHO"

# Streams, segmented and not.
head -c 2000000 /dev/urandom >"$TMP/stream"
SUM=$(sha256sum <"$TMP/stream")
bulk() { # what, address
	stream "$1" "$2"
	looked_at "$1"
	CUT=$(counted segments)
}
for SIM_OPTIONS in "" min_inline=18; do
	bulk "${SIM_OPTIONS:-TCP}" "$B4"
	ok "the NIC has cut $CUT segments of $(wire tcp_data)" test "$CUT" -gt $(($(wire tcp_data) / 3))
done
SIM_OPTIONS=
bulk "TCP by IPv6" "$B6"
ok "the NIC has cut $CUT segments of $(wire tcp_data)" test "$CUT" -gt $(($(wire tcp_data) / 3))
SIM_OPTIONS=csum=0
bulk "a NIC without checksums" "$B4"
same "it has cut nothing" 0 "$CUT"
SIM_OPTIONS=

stream_fails "the queue fails" "fail 20 4"

# A rate: by the NIC, where it has rates, and by the wheel. (The receiver counts frames without their tags.)
SLOWER=10
for SIM_OPTIONS in "" rates=0; do
	by="1 0"
	[ -z "$SIM_OPTIONS" ] || by="0 1"
	begin 300 1250 10000
	ok "UDP ${SIM_OPTIONS:-with a rate}: by NIC and wheel are $by" wait_until 20 are "$by"
	end "UDP ${SIM_OPTIONS:-with a rate}"
	ok "UDP ${SIM_OPTIONS:-with a rate}: whole and in order" is_whole 300
	[ -z "$SIM_OPTIONS" ] || ok "and the device says why" logged 'wheel: EOPNOTSUPP'
	paced 10 1000 1250 20000
	looked_at "paced by ${SIM_OPTIONS:-the NIC}"
done
SIM_OPTIONS=
rm -f "$TMP/go.tcp"
b timeout 60 socat -u TCP-LISTEN:7001,reuseaddr "OPEN:$TMP/got,creat,trunc" &
GOT=$!
wait_tcp b 7001
bg sa python3 "$TESTS/sim/pace_tcp_moves.py" "$B4" 7001 "$TMP/stream" 1000000 "wait=$TMP/go.tcp" >"$TMP/sent"
SENDER=$BG
ok "TCP with a rate: by the NIC" wait_until 20 are "1 0"
: >"$TMP/go.tcp"
ok "TCP with a rate: the sender ends" wait_end "$SENDER" 60
wait "$GOT"
ok "TCP with a rate: not a byte is lost" cmp "$TMP/stream" "$TMP/got"
looked_at "TCP with a rate"

# A device whose egress-qos-map is too long for the library stays with the kernel.
mapfile -t map < <(seq -f %g:1 10 42)
vlan_qos a "$DEV_A" "${map[@]}"
fresh
bulk_by_kernel() { [ ! -s "$TMP/capture.pcap" ]; }
rm -f "$TMP/capture.pcap"
b timeout 60 bash -c "socat -u TCP-LISTEN:7001,reuseaddr - | sha256sum" >"$TMP/got" &
GOT=$!
wait_tcp b 7001
ok "a long egress-qos-map: the sender ends" sa timeout 60 python3 "$TESTS/sim/bulk.py" "$B4" 7001 "$TMP/stream"
wait "$GOT"
same "a long egress-qos-map: not a byte is lost" "$SUM" "$(cat "$TMP/got")"
ok "a long egress-qos-map: nothing by the NIC" bulk_by_kernel
ok "and that is said" logged "$DEV_A stays with the kernel: its egress-qos-map has more than 32 entries"
done_testing
