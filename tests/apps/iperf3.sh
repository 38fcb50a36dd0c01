#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# iperf3 -u: either direction, both at once, several streams, IPv6. It loses no more than on the
# kernel, but for a margin, and reorders nothing.
. "$(dirname "$0")/lib.sh"
need iperf3 python3
net_up

# packets lost out_of_order, summed over streams and directions
figures() {
	python3 - "$1" <<-'PY'
	import json, sys
	e = json.load(open(sys.argv[1]))
	if "error" in e:
	    sys.exit(e["error"])
	sums = [e["end"][k] for k in ("sum", "sum_bidir_reverse") if k in e["end"]]
	ooo = sum(s["udp"]["out_of_order"] for s in e["end"]["streams"])
	print(sum(s["packets"] for s in sums), sum(s["lost_packets"] for s in sums), ooo)
	PY
}
declare -A KERNEL_LOST KERNEL_GOT
# Sets PACKETS LOST OOO. False: iperf3 failed.
measure() { # name, address, client options
	local name=$1 to=$2 out server
	shift 2
	out=$(said "$name")
	bg pb iperf3 -s -1 -p 5201 >"$out.server" 2>&1
	server=$BG
	wait_tcp b 5201
	pa timeout 60 iperf3 -u -c "$to" -p 5201 -t 1 -J "$@" >"$out" 2>"$out.err" ||
		{ fail "$name: the client's status is $?"; stop "$server"; return 1; }
	wait_end "$server" 20 || { fail "$name: the server's status is $?"; return 1; }
	read -r PACKETS LOST OOO < <(figures "$out" 2>&1)
	case ${OOO:-x} in *[!0-9]*) fail "$name: $PACKETS $LOST $OOO"; return 1 ;; esac
	say "    $name: $PACKETS packets, $LOST lost, $OOO out of order"
}
# True: the loss is at most a twentieth more than on the kernel. For an unlimited flow this compares what
# arrives, since a faster sender loses more.
good_enough() { # name
	if [ "$1" = unlimited ]; then
		[ $(((PACKETS - LOST) * 2)) -ge "${KERNEL_GOT[$1]}" ]
	else
		[ $((LOST * 1000 / PACKETS)) -le $((KERNEL_LOST[$1] + 50)) ]
	fi
}
round() { # name, address, client options
	local name=$1
	offload_begin
	measure "$@" || return
	ok "$name: packets came" test "$PACKETS" -gt 100
	same "$name: out of order" 0 "$OOO"
	case $name in
	big) ;; # (fragments, which come through the kernel)
	*reverse) client_is_ours && offload_end "$PACKETS" "$PACKETS" ;;
	*) offload_end "$PACKETS" ;;
	esac
	if [ "$MODE" = kernel ]; then
		KERNEL_LOST[$name]=$((LOST * 1000 / PACKETS)) KERNEL_GOT[$name]=$((PACKETS - LOST))
		return
	fi
	# (Up to two further tries: the buffer of a receiver that gets no core for 70 ms is full.)
	good_enough "$name" || measure "$@" || return
	good_enough "$name" || measure "$@" || return
	ok "$name: $LOST of $PACKETS lost, of 1000 the kernel ${KERNEL_LOST[$name]}" good_enough "$name"
}

for MODE in $MODES; do
	round forward "$B4" -b 50M
	round small "$B4" -b 10M -l 100
	round reverse "$B4" -b 50M -R
	round both "$B4" -b 20M --bidir
	round parallel "$B4" -b 10M -P 4
	round parallel-reverse "$B4" -b 10M -P 4 -R
	round v6 "$B6" -b 50M
	round v6-reverse "$B6" -b 50M -R
	round big "$B4" -b 50M -l 8000
	round unlimited "$B4" -b 0
done
done_testing
