#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# The administrator's rates: `pace` lines of sluice.conf by their precedence, UDP and TCP; `sluice pace set` and bpftool
# while a program runs; transmit queues and flow maps in a copy of sysfs, and what this kernel says of a veth.
RX=xdp # (the maps are the XDP program's)
unset SLUICE_STATS_SHMEM_DIR
. "$(dirname "$0")/lib.sh"
. "$TESTS/net/lib_pace.sh"
need python3 bpftool
net_up
MODE=software
TOOL=$BUILD/sluice
B4b=${B4%.*}.77
b ip addr add "$B4b/24" dev "$DEV_B"

# The lines of the file. The program asks for no rate (or a lower one); the receiver expects the line's.
cat >"$TMP/conf" <<END
pace *:* 8mbit
pace *:7101 6mbit
pace $B4:* 4mbit
pace $B4:7100 2mbit
END
export SLUICE_CONFIG_FILE=$TMP/conf
told() { # what, address, port, frames, expected rate, asked rate, words: at most one percent over it, and not far below
	local receiver tcp= try
	[[ "${*:7}" != *tcp* ]] || tcp=1514
	for try in 1 2 3 4 5; do
		b "$BIN/pace_receive" "$DEV_B" "$3" "$4" "$5" $tcp >"$TMP/paced" &
		receiver=$!
		wait_line "$TMP/paced" listening
		sa "$BIN/pace_send" "$2" "$3" "$4" "${tcp:-1250}" "$6" "${@:7}" >"$TMP/sent" 2>&1 || cat "$TMP/sent"
		wait "$receiver"
		sed -i /listening/d "$TMP/paced"
		not_over 15 1 || break
		not_over 60 -1 && break
	done
	ok "$1: none is faster than $5 kbit/s ($(worst 1) permille)" not_over 15 1
	ok "$1: nor slower (try $try)" not_over 60 -1
}
file_lines() {
	told "address and port" "$B4" 7100 250 2000 0
	told "address" "$B4" 7101 300 4000 0
	told "port" "$B4b" 7101 400 6000 0
	told "neither" "$B4b" 7102 500 8000 0
	told "a lower rate of the program" "$B4" 7100 130 1000 1000
	told "a higher one" "$B4" 7100 250 2000 20000
	told "TCP" "$B4" 7100 200 2000 0 tcp
}
[ "${LEASED:-0}" = 1 ] || file_lines # (the file is the daemon's there, which began before it was written)

# A program that runs follows the map.
unset SLUICE_CONFIG_FILE
bg sa python3 "$TESTS/net/pace_rules.py" "$B4" 7200 >"$TMP/rates"
SENDER=$BG
pace() { a "$TOOL" pace "$@"; }
settled() { # least and most kbit/s of the last three tenths
	awk -v lo="$1" -v hi="$2" '{ r[NR] = $1 * 8 / 1000 } END { for (i = NR - 2; i <= NR; i++) if (r[i] < lo || r[i] > hi) exit 1
		exit NR < 3 }' "$TMP/rates"
}
ok "no rate" wait_until 10 settled 20000 1e12
pace set -d "$DEV_A" "$B4:7200" 2mbit || fail "set"
ok "a rate of 2 Mbit/s" wait_until 10 settled 1000 2400
same "show" "$DEV_A: $B4:7200 2mbit, each offloaded socket" "$(pace show -d "$DEV_A")"
pace set -d "$DEV_A" "$B4:7200" 8mbit
ok "a higher one" wait_until 10 settled 4000 9600
le() { python3 -c 'import sys; print(*int(sys.argv[1]).to_bytes(int(sys.argv[2]), "little"))' "$1" "$2"; } # number, bytes
# shellcheck disable=SC2046
a bpftool map update pinned "/sys/fs/bpf/sluice/$DEV_A/paces" key $(le 5 4) value $(le 0 16) $(le 0 4) $(le 0 4) $(le 1000 8) \
	$(le 0 4) $(le 0 4) || fail "bpftool"
pace unset -d "$DEV_A" "$B4:7200"
ok "bpftool's, for all destinations" wait_until 10 settled 500 1200
ok "is shown" grep -q ': \*:\* 1mbit' <(pace show -d "$DEV_A")
ok "the socket is listed with it" grep -q ' wheel .* 1000.0 ' <("$TOOL" pace -k "$TMP/stats")
pace unset -d "$DEV_A" --all
ok "no rate again" wait_until 10 settled 20000 1e12
same "nothing is left" "no rates are set" "$(pace show -d "$DEV_A")"
ok "a destination without a rate" grep -q 'no device has a rate' <(pace unset -d "$DEV_A" "$B4:1" 2>&1)
ok "a wrong rate" grep -q 'expected a rate above 0' <(pace set -d "$DEV_A" "$B4:1" fast 2>&1)
ok "a wrong rate of a queue" grep -q '^sluice pace: 5.5kbit: a rate above 0: a number' <(pace set -d "$DEV_A" -q 0 5.5kbit 2>&1)
ok "a wrong port" grep -q 'expected a port' <(pace set -d "$DEV_A" "$B4:99999" 5 2>&1)
ok "a wrong burst" grep -q 'expected the bytes of the burst' <(pace set -d "$DEV_A" "$B4:1" 5 burst x 2>&1)
ok "no such device" grep -q 'nodev0: no such device here.*ip link' <(pace show -d nodev0 2>&1)
ok "a queue without its device" grep -q 'the device of the queue (-d) is expected' <(pace set -q 0 5 2>&1)
stop "$SENDER"
gone() { not grep -q "$DEV_A" <(ls /sys/fs/bpf/sluice 2>/dev/null); }
ok "with the program the map goes" wait_until 10 gone

# The kernel sets no rate for a queue of a veth, and has no queue 77 there.
in_sysfs() { a unshare -m sh -c 'mount -t sysfs none /sys && "$@"' sh "$@" 2>&1; } # (sysfs is of the namespace that mounts it)
ok "a veth limits no queue" grep -q 'cannot limit a queue: set the rate of a destination' <(in_sysfs "$TOOL" pace set -d "$DEV_A" -q 0 300)
ok "no such queue" grep -q 'lists the queues' <(in_sysfs "$TOOL" pace set -d "$DEV_A" -q 77 300)
ok "nobody has it offloaded" grep -q 'no device is offloaded' <(pace set -d "$DEV_A" "$B4:1" 1 2>&1)

# The manual's example (packet pacing of ConnectX), on files in place of the driver's.
cat >"$TMP/inner" <<'END'
mount -t tmpfs none /sys/class/net || exit 77
cd /sys/class/net || exit 77
for i in 0 1 2 310 311; do mkdir -p "ens2f1/queues/tx-$i"; echo 0 >"ens2f1/queues/tx-$i/tx_maxrate"; done
for ((i = 3; i < 310; i++)); do mkdir "ens2f1/queues/tx-$i"; echo 0 >"ens2f1/queues/tx-$i/tx_maxrate"; done
for i in 310 311; do mkdir "ens2f1/queues/tx-$i/flow_map"; echo 0x0 >"ens2f1/queues/tx-$i/flow_map/dst_ip"; echo 0 >"ens2f1/queues/tx-$i/flow_map/dst_port"; done
echo 00000000,00000004 >ens2f1/queues/tx-1/xps_cpus
value() { cat "ens2f1/queues/$1"; }
"$1" pace set -d ens2f1 -q 0 300; echo "queue: $(value tx-0/tx_maxrate)"
"$1" pace set -d ens2f1 -c 2 1gbit; echo "cpu: $(value tx-1/tx_maxrate)"
"$1" pace set -d ens2f1 192.168.1.1:3333 100
echo "flow: $(value tx-310/flow_map/dst_ip) $(value tx-310/flow_map/dst_port) $(value tx-310/tx_maxrate)"
"$1" pace set -d ens2f1 '*:3334' 50
"$1" pace set -d ens2f1 192.168.1.2:1 50 2>&1 | grep -o 'no queue is free for the flow'
"$1" pace set -d ens2f1 192.168.1.1:3333 200; echo "again: $(value tx-310/tx_maxrate)"
"$1" pace show -d ens2f1
"$1" pace unset -d ens2f1 192.168.1.1:3333; "$1" pace unset -d ens2f1 '*:3334'
"$1" pace unset -d ens2f1 -q 0; "$1" pace unset -d ens2f1 -c 2
"$1" pace show -d ens2f1
END
a unshare -m bash "$TMP/inner" "$TOOL" >"$TMP/out" 2>&1
if [ $? = 77 ]; then say "# no mounts over sysfs here"; else
	same "queues and flows" "queue: 300
cpu: 1000
ens2f1: queue tx-310 has the flow, at 100 Mbit/s
flow: 0xc0a80101 3333 100
ens2f1: queue tx-311 has the flow, at 50 Mbit/s
no queue is free for the flow
ens2f1: queue tx-310 has the flow, at 200 Mbit/s
again: 200
ens2f1: queue tx-0 300mbit
ens2f1: queue tx-1 1000mbit
ens2f1: queue tx-310 200mbit for 192.168.1.1:3333
ens2f1: queue tx-311 50mbit for *:3334
no rates are set" "$(cat "$TMP/out")"
fi
done_testing
