#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# A device is deleted and made again under a program, many times: each new one is offloaded, its maps are pinned by
# its name, though the program has the old ones still, and the frames that the old ones had are there for it. The
# same holds through the daemon (LEASED=1).
. "$(dirname "$0")/lib.sh"
need bpftool
need_built
ROUNDS=${ROUNDS:-12} # without their frames eight would be too many
ANSWERS=${ANSWERS:-100}
net_up
MODE=one
PINS=/sys/fs/bpf/sluice/$DEV_B
pinned_device() { bpftool map dump pinned "$PINS/config" 2>/dev/null | sed -n 's/.*"ifindex": \([0-9]*\).*/\1/p'; }
is_pinned() { [ "$(pinned_device)" = "$(b cat "/sys/class/net/$DEV_B/ifindex" 2>/dev/null || b ip -o link show "$DEV_B" | cut -d: -f1)" ]; }
has_claim() { bpftool map dump pinned "$PINS/endpoints" 2>/dev/null | grep -q '"local_port": 7000'; }
answers() {
	rm -f "$TMP/steady"
	a "$BIN/steady" -i 1000 -n "$ANSWERS" "$B4" 7000 "$TMP/steady" && [ "$(cut -d" " -f2 "$TMP/steady")" = "$ANSWERS" ]
}
descriptors() { ls "/proc/$server/fd" ${LEASED:+"/proc/$DAEMON_b/fd"} | wc -l; }
maps() { cat "/proc/$server/maps" ${LEASED:+"/proc/$DAEMON_b/maps"} | grep -c 'socket:\|bpf-map\|memfd:sluice'; }
bg sb "$BIN/echo" "$B4" 7000
server=$BG
wait_udp b 7000
for round in $(seq "$ROUNDS"); do
	ok "round $round: the maps of this device are pinned" wait_until 20 is_pinned
	ok "round $round: with the claim" wait_until 20 has_claim
	offload_begin
	ok "round $round: it answers" answers
	same "round $round: not by the kernel" 0 "$(($(udp_stat b InDatagrams) - K_IN))"
	[ "$round" != 1 ] || fds=$(descriptors) ports=$(maps)
	# (A device's place is free 5 s after it: sixteen in that time are the most of a lease.)
	sleep "${PAUSE:-0}"
	ip -n "${NS}b" link del "$DEV_B"
	join a b "$DEV_A" "$DEV_B" 1 1500
	addr_up a "$DEV_A" "$A4/24" "$A6/64"
	addr_up b "$DEV_B" "$B4/24" "$B6/64"
	wait_until 10 link_is_up b "$DEV_B" || die "the link does not come up"
done
# (Files that a look of each second keeps may be opened after the first round; a leak has one for each device.)
ok "no descriptor is left" wait_until 30 eval '[ "$(descriptors)" -le $((fds + 4)) ]'
# (The views of the last eight devices' rules stay, since their readers take no lock.)
ok "nor a mapping" wait_until 30 eval '[ "$(maps)" -le $((ports + 8)) ]'
stop "$server"
ok "nothing is left of them" wait_until 10 test ! -e "$PINS"
ok "nor beside" test -z "$(ls -d "$PINS":* 2>/dev/null)"
done_testing
