#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Queueing disciplines on the device: offloaded packets bypass them, so they do not suffer from a discipline that is not
# made for them (etf drops packets without a time, a band of ets has little of the wire). Sockets that need a discipline
# (SO_TXTIME) stay with the kernel.
VM_NICS=${VM_NICS:-virtio-2} VM_CPUS=${VM_CPUS:-2} VM_SECONDS=${VM_SECONDS:-2000}
VM_PASS="VM_NICS ${VM_PASS:-}"
. "$(dirname "$0")/../lib.sh"
. "$VM_DIR/lib_traffic.sh"
export NIC_QUEUES=2
use 1
net_up
knows() { # host, device, address, whose host, device: (etf drops the kernel's own questions for a neighbour)
	ip -n "$NS$1" neigh replace "$3" dev "$2" nud permanent \
		lladdr "$(ip -n "$NS$4" -br link show "$5" | awk '{ print $3 }')"
}
knows a "$DEV_A" "$B4" b "$DEV_B"
knows b "$DEV_B" "$A4" a "$DEV_A"
traffic_begin
# A program says when a datagram is to leave: it must not leave earlier.
timed() { # WHAT CLOCK
	MODE=one
	ok "$1: a datagram leaves at its time" sb timeout 60 python3 "$VM_DIR/txtime.py" "$A4" 7001 "$2"
}
traffic "as it came" 0
while read -r name options; do
	modprobe "sch_$name" 2>/dev/null
	# shellcheck disable=SC2086
	if ! b tc qdisc replace dev "$DEV_B" root handle 1: $name $options; then
		fail "$name: not to be had"
		continue
	fi
	case $name in
	mqprio)
		modprobe sch_etf && b tc qdisc replace dev "$DEV_B" parent 1:1 etf clockid CLOCK_TAI delta 500000 &&
			b tc qdisc replace dev "$DEV_B" parent 1:2 etf clockid CLOCK_TAI delta 500000 || fail "no etf"
		;;
	esac
	traffic "$name" 0
	case $name in
	fq) timed fq CLOCK_MONOTONIC ;;
	mqprio)
		says "has 2 traffic classes"
		timed etf CLOCK_TAI
		;;
	esac
	b tc qdisc del dev "$DEV_B" root
	traffic "$name taken off" 0
done <<'LIST'
fq
ets bands 3 strict 1 quanta 3000 1000 priomap 2 2 2 2
mqprio num_tc 2 map 0 1 0 1 queues 1@0 1@1 hw 0
LIST
kernel_quiet
done_testing
