#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Sockets that want some datagrams alone, by DSCP and by flow label (SL_SO_STEER), beside one that gets the rest; and
# rules that narrow what is offloaded (use ... dscp 46): what they leave out comes by the kernel.
. "$(dirname "$0")/lib.sh"
net_up
need python3 bpftool
need_built
MODE=one

# Runs udp_steer.py; sets BY_KERNEL to the datagrams that the kernel's sockets of b got.
run() { # what, port, settings...
	local what=$1 port=$2 in
	SL_ENV=("${@:3}")
	rm -f "$TMP/said"
	in=$(udp_stat b InDatagrams)
	bg sb python3 "$TESTS/net/udp_steer.py" receive "$what" "$B4" "$B6" "$port" >"$TMP/said"
	local subject=$BG
	wait_line "$TMP/said" ready
	[ "$what" != steer ] || narrowed_groups
	a python3 "$TESTS/net/udp_steer.py" send "$B4" "$B6" "$port" || fail "the sender failed"
	wait_end "$subject" || fail "the receiver failed"
	BY_KERNEL=$(($(udp_stat b InDatagrams) - in))
}
narrowed_groups() {
	bpftool map dump pinned "/sys/fs/bpf/sluice/$DEV_B/groups" >"$TMP/groups" 2>&1
	ok "bpftool shows the DSCP" grep -q '"dscp": 0x2e' "$TMP/groups"
	ok "and the flow label" grep -q "\"label\": 0xabcde" "$TMP/groups"
}

run steer 7310
# Each sender sends 20 of each kind: EF and best effort by IPv4; by IPv6 EF, the label, and neither.
for line in "v4 ef 20" "v4 rest 20" "v6 ef 20" "v6 label 20" "v6 rest 20" "nothing more"; do
	ok "$line" file_has "$TMP/said" "^$line\$"
done
for line in "any 40" "back" "wrong value EINVAL" "too short EINVAL" "a stream ENOTSUP"; do
	ok "$line" file_has "$TMP/said" "^$line\$"
done
ok "all of it offloaded ($BY_KERNEL by the kernel)" test "$BY_KERNEL" -le 4

# By the daemon the rules are the daemon's.
[ -z "${LEASED:-}" ] || done_testing
printf '%s\n' "use sluice udp_receiver *:7320 dscp 46" "use sluice udp_receiver *:7321 flow-label 0xabcde/0xfffff" \
	>"$TMP/sluice.conf"
run rule 7320 SLUICE_CONFIG_FILE="$TMP/sluice.conf"
ok "by DSCP: all arrive" file_has "$TMP/said" "^all 100\$"
ok "what the rule leaves out comes by the kernel ($BY_KERNEL of 60)" test "$BY_KERNEL" -ge 60 -a "$BY_KERNEL" -le 64
run rule 7321 SLUICE_CONFIG_FILE="$TMP/sluice.conf"
ok "by flow label: all arrive" file_has "$TMP/said" "^all 100\$"
ok "what the rule leaves out comes by the kernel ($BY_KERNEL of 80)" test "$BY_KERNEL" -ge 80 -a "$BY_KERNEL" -le 84

# The first segment of a TCP connection decides for the whole connection.
echo "use sluice tcp_server *:7330 dscp 46" >"$TMP/sluice.conf"
SL_ENV=(SLUICE_CONFIG_FILE="$TMP/sluice.conf")
bg sb python3 "$TESTS/net/udp_steer.py" serve "$B4" 7330
wait_tcp b 7330
for tos in $((46 << 2)) 0; do
	same "a connection with ToS $tos" "hello" "$(a python3 "$TESTS/net/udp_steer.py" ask "$B4" 7330 "$tos")"
done
# The kernel's own count of connections that it took: that without the DSCP alone.
same "the kernel took one of them" 1 "$(b awk '$1 == "Tcp:" { n = $7 } END { print n }' /proc/net/snmp)"
done_testing
