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
for c in structure zcopy sort quiet child rings logic dummy tag bounded choice tcp tcp_bounded \
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
	bg b python3 -c 'import fcntl, struct, time
tap = open("/dev/net/tun", "r+b", buffering=0)
fcntl.ioctl(tap, 0x400454ca, struct.pack("16sH", b"tapmod", 0x1002))
time.sleep(60)'
	ok "a tap" wait_until 5 eval 'b ip addr add 198.18.7.1/24 dev tapmod 2>/dev/null'
	b ip link set tapmod up
	b ip neigh replace 198.18.7.2 lladdr 02:00:00:00:00:07 dev tapmod
	ok "moderate" sb timeout 60 "$BIN/vma_api" 198.18.7.2 7000 198.18.7.1 moderate
	stop "$BG"
fi
done_testing
