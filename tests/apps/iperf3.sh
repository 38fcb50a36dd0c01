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
round() { # name, address, client options
	local name=$1 to=$2 out packets lost ooo
	shift 2
	out=$(said "$name")
	offload_begin
	bg pb iperf3 -s -1 -p 5201 >"$out.server" 2>&1
	wait_tcp b 5201
	pa timeout 60 iperf3 -u -c "$to" -p 5201 -t 1 -J "$@" >"$out" 2>"$out.err"
	ok "$name: the client ends well" test $? = 0
	wait_end "$BG" 20
	ok "$name: the server ends well" test $? = 0
	read -r packets lost ooo < <(figures "$out" 2>&1)
	case ${ooo:-x} in *[!0-9]*) fail "$name: $packets $lost $ooo"; return ;; esac
	say "    $name: $packets packets, $lost lost, $ooo out of order"
	ok "$name: packets came" test "$packets" -gt 100
	same "$name: out of order" 0 "$ooo"
	if [ "$MODE" = kernel ]; then
		KERNEL_LOST[$name]=$((lost * 1000 / packets)) KERNEL_GOT[$name]=$((packets - lost))
	elif [ "$name" = unlimited ]; then
		# Whoever sends faster loses more: what arrives is compared.
		ok "$name: $((packets - lost)) arrived, the kernel's ${KERNEL_GOT[$name]}" \
			test $(((packets - lost) * 2)) -ge "${KERNEL_GOT[$name]}"
	else
		# A margin of a quarter, since the programs share two cores with whatever else the
		# machine does, and a receiver that does not run for 70 ms has its buffer full.
		ok "$name: $((lost * 1000 / packets)) of 1000 lost, the kernel ${KERNEL_LOST[$name]}" \
			test $((lost * 1000 / packets)) -le $((KERNEL_LOST[$name] + 250))
	fi
	case $name in
	big) ;; # the kernel puts the pieces together
	*reverse) client_is_ours && offload_end "$packets" "$packets" ;;
	*) offload_end "$packets" ;;
	esac
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
