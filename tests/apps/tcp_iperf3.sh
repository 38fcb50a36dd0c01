#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# iperf3 over TCP: either direction, both at once, several streams, IPv6, small writes, a limited rate.
. "$(dirname "$0")/lib_tcp.sh"
need iperf3 python3
net_up
PORT=5201
round() { # name address client options
	local name=$1 to=$2 out server bytes
	shift 2
	out=$(said "$name")
	bg pb iperf3 -s -1 -p $PORT >"$out.server" 2>&1
	server=$BG
	wait_tcp b $PORT
	segs_begin
	pa timeout 60 iperf3 -c "$to" -p $PORT -J "$@" >"$out" 2>"$out.err" ||
		{ fail "$name: the client's status is $?"; grep -o '"error".*' "$out"; stop "$server"; return 1; }
	wait_end "$server" 20 || { fail "$name: the server's status is $?"; return 1; }
	# Every mode sends the same number of bytes (-n), so that the segments can be compared.
	segs_end "$name" 15
	bytes=$(python3 - "$out" <<-'PY'
	import json, sys
	e = json.load(open(sys.argv[1]))
	if "error" in e:
	    sys.exit(e["error"])
	# (--bidir with -n ends when one direction is done; the other one may have sent little by then.)
	ways = [e["end"][k] for k in ("sum_received", "sum_received_bidir_reverse") if k in e["end"]]
	print(sum(w["bytes"] for w in ways), int(sum(w["bits_per_second"] for w in ways) / 1e6))
	PY
	)
	say "    $name: ${bytes% *} bytes, ${bytes#* } Mbit/s"
	ok "$name: bytes came" test "${bytes% *}" -gt 1000000
}
for MODE in $MODES; do
	round forward "$B4" -n 40M
	round reverse "$B4" -n 40M -R
	round parallel "$B4" -n 40M -P 2
	round parallel-reverse "$B4" -n 40M -P 2 -R
	round both "$B4" -n 10M --bidir
	round v6 "$B6" -n 40M
	round v6-reverse "$B6" -n 40M -R
	# (The end of the test overtakes bytes in the sockets' buffers, and iperf3 does not count bytes that come later.)
	round small "$B4" -n 2M -l 100 -N -w 128K
	round limited "$B4" -b 50M -t 1
	round mss "$B4" -n 20M -M 500
done
done_testing
