#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# A program for libvma's extra API runs unchanged: zero-copy receive, the packet callback, rules, threads, rings.
. "$(dirname "$0")/lib.sh"
PEER=$BUILD/tests/preload/peer
need "$PEER" "$BIN/vma_api"
net_up
same "there is no API without the library" "no API" "$(b "$BIN/vma_api" "$A4" 7000 "$B4")"
MODE=one
bg a "$PEER" "$A4" 7000
wait_udp a 7000
[ -z "${LEASED:-}" ] || SL_ENV+=(VMA_API_LEASED=1)
for c in structure zcopy sort quiet child rings logic profile memory no_memory dummy tag bounded choice tcp tcp_bounded \
	tcp_sort tcp_quiet tcp_hold tcp_leaves; do
	ok "$c" sb timeout 60 "$BIN/vma_api" "$A4" 7000 "$B4" $c
done
peer=$BG
bg sb env SLUICE_STATS_SHMEM_DIR="$TMP" "$BIN/vma_api" "$A4" 7000 "$B4" held
ok "sluice stat shows the packets that a program holds" wait_until 8 eval \
	'b "$BUILD/sluice" stat -k "$TMP" -v 3 -c 1 2>/dev/null | grep -qx "Rx zero copy buffers: cur 3"'
stop "$BG" "$peer"
bg a "$PEER" "$A6" 7000
wait_udp a 7000
for c in zcopy rings logic dummy tcp tcp_sort; do
	ok "$c, IPv6" sb timeout 60 "$BIN/vma_api" "$A6" 7000 "$B6" $c
done
if [ -c /dev/net/tun ] && [ -z "${LEASED:-}" ]; then # (it takes CAP_NET_ADMIN, which programs of the daemon lack)
	# (50 datagrams a second come by it, to port 5555.)
	bg b python3 -c 'import fcntl, socket, struct, time
tap = open("/dev/net/tun", "r+b", buffering=0)
fcntl.ioctl(tap, 0x400454ca, struct.pack("16sH", b"tapmod", 0x1002))
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
mac = fcntl.ioctl(s, 0x8927, struct.pack("256s", b"tapmod"))[18:24]
ip = bytearray(struct.pack("!BBHHHBBH4s4s", 0x45, 0, 32, 0, 0, 64, 17, 0, *map(socket.inet_aton, ("198.18.7.2", "198.18.7.1"))))
n = sum(struct.unpack("!10H", ip))
ip[10:12] = struct.pack("!H", 0xffff - (n & 0xffff) - (n >> 16))
frame = mac + b"\2\0\0\0\0\7\10\0" + ip + struct.pack("!HHHH", 7000, 5555, 12, 0) + b"data"
while True:
    time.sleep(0.02)
    try: tap.write(frame)
    except OSError: pass # it is down'
	TAP=$BG
	ok "a tap" wait_until 5 eval 'b ip addr add 198.18.7.1/24 dev tapmod 2>/dev/null'
	b ip link set tapmod up
	b ip neigh replace 198.18.7.2 lladdr 02:00:00:00:00:07 dev tapmod
	ok "moderate" sb timeout 60 "$BIN/vma_api" 198.18.7.2 7000 198.18.7.1 moderate
	# The settings have the device moderate its interrupts while a program uses it, fixed or as packets come.
	frames() { b ethtool -c tapmod | sed -n 's/^rx-frames:[[:space:]]*//p'; }
	receive() { # settings...: a program that receives until ended()
		rm -f "$TMP/end"
		SL_ENV=("SLUICE_STATS_SHMEM_DIR=$TMP" SLUICE_CQ_MODERATION_PERIOD_USEC=0 "$@")
		bg sb python3 -c 'import os, socket, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(("198.18.7.1", 5555))
while not os.path.exists(sys.argv[1]): s.recv(100)' "$TMP/end"
	}
	ended() { touch "$TMP/end" && wait "$BG"; }
	is() { [ "$(frames)" -ge "$1" ] && [ "$(frames)" -le "$2" ]; }
	b ethtool -C tapmod rx-frames 3
	receive SLUICE_CQ_MODERATION_COUNT=9
	ok "CQ_MODERATION_COUNT" wait_until 8 is 9 9
	ok "sluice stat shows it" eval 'b "$BUILD/sluice" stat -k "$TMP" -v 3 -c 1 2>/dev/null | grep -qx "Moderation frame count:  *9"'
	ended
	ok "and the device is as it was" is 3 3
	receive SLUICE_CQ_MODERATION_COUNT=33 SLUICE_CQ_AIM_INTERRUPTS_RATE_PER_SEC=5 SLUICE_CQ_AIM_MAX_PERIOD_USEC=0
	ok "CQ_AIM_INTERRUPTS_RATE_PER_SEC: 50 packets in 5 interrupts" wait_until 8 is 4 15
	ended
	ok "and the device is as it was" is 3 3
	receive SLUICE_CQ_MODERATION_COUNT=33 SLUICE_CQ_AIM_INTERRUPTS_RATE_PER_SEC=5 SLUICE_CQ_AIM_MAX_PERIOD_USEC=0 SLUICE_CQ_AIM_MAX_COUNT=2
	ok "CQ_AIM_MAX_COUNT: no more than 2 for an interrupt" wait_until 8 is 2 2
	ended
	receive SLUICE_CQ_MODERATION_COUNT=33 SLUICE_CQ_AIM_INTERRUPTS_RATE_PER_SEC=5 SLUICE_CQ_AIM_INTERVAL_MSEC=0
	ok "CQ_AIM_INTERVAL_MSEC=0: told once" wait_until 8 is 33 33
	sleep 1.5 # (the shortest interval is a second)
	ok "and not adapted" is 33 33
	ended
	receive SLUICE_CQ_MODERATION_COUNT=33 SLUICE_CQ_MODERATION_ENABLE=0
	ok "CQ_MODERATION_ENABLE=0: an interrupt for each packet" wait_until 8 is 1 1
	ended
	SL_ENV=()
	stop "$TAP"
fi
done_testing
