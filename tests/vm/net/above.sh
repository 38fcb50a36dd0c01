#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Devices above a NIC (macvlan, ipvlan, VXLAN) and MTUs from 576 to 9000: what goes over them is whole, offloaded or not,
# and the log says which; what goes over the NIC beside them is offloaded as before.
VM_NICS=${VM_NICS:-virtio} VM_SECONDS=${VM_SECONDS:-1200}
VM_PASS="VM_NICS ${VM_PASS:-}"
. "$(dirname "$0")/../lib.sh"
. "$VM_DIR/lib_traffic.sh"
modprobe -a macvlan ipvlan vxlan || skip "the guest's kernel lacks one of macvlan, ipvlan, VXLAN"
use 1
net_up
bg a python3 "$VM_DIR/bytes.py" serve 0.0.0.0 7001
wait_tcp a 7001
answers() { # address: asks a port without a listener
	b timeout 2 bash -c "exec 3<>/dev/tcp/$1/9" 2>&1 | grep -q refused
}
# A pair of devices of a kind, up02 on each host, with addresses of their own.
above() { # host, number, type and its options...
	local h=$1 n=$2 low=DEV_${1^^}
	shift 2
	ip -n "$NS$h" link add up02 ${LOW:+link "${!low}"} type "$@" &&
		ip -n "$NS$h" addr add "10.99.0.$n/24" dev up02 && ip -n "$NS$h" link set up02 up
}
# Sends datagrams and a stream; sets BY to 0 if they went by the library, else they went by the kernel. No byte may be
# lost in either case.
over() { # WHAT ADDRESS
	rm -f "$TMP"/sluice.*.log
	ok "$1: datagrams, bytes over TCP" sb timeout 120 python3 "$VM_DIR/bytes.py" ask "$2" 7001 200000 "$TMP/asked" 20
	BY=$(cut -d' ' -f2 "$TMP/asked")
	same "$1: all bytes" 200000 "$(cut -d' ' -f1 "$TMP/asked")"
	say "    $1: by the $([ "$BY" = 0 ] && echo "library" || echo "kernel")"
	grep -h 'up02' "$TMP"/sluice.*.log | grep -v settings | sort -u
	[ "$BY" = 0 ] || ok "$1: the log says why it is the kernel's" grep -qE 'up02|not offloaded|kernel' "$TMP"/sluice.*.log
}
MODE=one
for kind in "macvlan mode bridge" "ipvlan mode l2" vxlan; do
	MODE=${kind%% *}
	case $MODE in
	vxlan)
		LOW=
		above a 1 vxlan id 7 dstport 4789 local "$A4" remote "$B4" dev "$DEV_A" &&
			above b 2 vxlan id 7 dstport 4789 local "$B4" remote "$A4" dev "$DEV_B"
		;;
	*)
		LOW=1
		# shellcheck disable=SC2086
		above a 1 $kind && above b 2 $kind
		;;
	esac || die "no $MODE"
	ok "$MODE: it carries" wait_until 20 answers 10.99.0.1
	over "$MODE" 10.99.0.1
	MODE=one
	traffic "the NIC below ${kind%% *}" 0
	for h in a b; do ip -n "$NS$h" link del up02; done
done
for mtu in 576 1280 3000 9000; do
	MODE=$mtu
	for h in a b; do
		low=DEV_${h^^}
		ip -n "$NS$h" link set "${!low}" mtu $mtu || say "no MTU of $mtu"
	done
	ok "MTU $mtu: it carries" wait_until 20 answers "$A4"
	over "MTU $mtu" "$A4"
	# (virtio_net loses packets in several buffers with any XDP program that takes them.)
	[ $mtu -gt 3500 ] || same "MTU $mtu: offloaded" 0 "$BY"
done
kernel_quiet
done_testing
