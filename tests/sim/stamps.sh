#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Transmit stamps of the (simulated) NIC are compared with the departure times in its capture, for each conversion; and
# a socket's stamps where the hardware gives none.
VERBS=1
. "$(dirname "$0")/lib.sh"
net_up
MODE=simulated
need python3
bg b "$BUILD/tests/net/echo" "$B4" 7000
wait_udp b 7000

TX_HW=1 TX_SW=2 SOFT=16 RAW=64 ID=128 TSONLY=2048 SWHW=16384
stamped() { # conversion N flags [pause]: writes the stamps that come back to $TMP/stamps
	rm -f "$TMP/capture.pcap" "$TMP"/sluice.*.log
	SL_ENV=("SIM_NIC_CAPTURE=$TMP/capture.pcap" "SLUICE_HW_TS_CONVERSION=$1")
	sa python3 "$TESTS/sim/stamps.py" "$B4" "${STREAM:-7000}" "${@:2}" >"$TMP/stamps"
	same "$1: the program ends" 0 $?
	ok "$1: by verbs" grep -q 'by verbs (simulated0' "$TMP"/sluice.*.log
}
# Prints how many stamps are the hardware's, whether all N are there in order (1), the largest distance from the capture
# and by how much it varies (microseconds), how many have a software stamp, and how many come with the packet.
compared() { # N
	python3 - "$TESTS/sim" "$TMP" "$1" <<-'PY'
		import sys
		sys.path.insert(0, sys.argv[1])
		import capture
		left = {}
		for t, frame in capture.read(sys.argv[2] + "/capture.pcap"):
		    if frame[-8:-3] == b"stamp":
		        left.setdefault(int(frame[-3:]), t)
		got = [line.split() for line in open(sys.argv[2] + "/stamps") if not line.startswith("now")]
		off = [int(hw) - left[int(n)] for n, sw, hw, *_ in got if int(hw)]
		print(len(off), int([int(n) for n, *_ in got] == list(range(int(sys.argv[3])))),
		      max(map(abs, off), default=0) // 1000, (max(off, default=0) - min(off, default=0)) // 1000,
		      sum(int(sw) != 0 for n, sw, *_ in got), sum(len(g) > 3 for g in got))
	PY
}
counts() { # what N expected: compares these figures; sets MOST and VARY to the two of the distance
	local hw order most vary sw data
	read -r hw order most vary sw data < <(compared "$2")
	same "$1" "$3" "hw $hw order $order sw $sw data $data"
	MOST=$most VARY=$vary
}

# The stamps in the PHC's time agree with the capture: they are converted by the driver's own parameters.
for options in real_time=1 real_time=0 clock_khz=1000000; do
	SIM_OPTIONS=$options
	stamped ptp 60 $((TX_HW | RAW | ID | TSONLY))
	counts "$options: each by hardware" 60 "hw 60 order 1 sw 0 data 0"
	ok "$options: when the packet left ($MOST us off at most)" test "$MOST" -lt 500
done
SIM_OPTIONS=
stamped ptp 40 $((TX_HW | TX_SW | RAW | SOFT | ID))
counts "hardware's instead of software's, with the packet" 40 "hw 40 order 1 sw 0 data 40"
stamped ptp 40 $((TX_HW | TX_SW | RAW | SOFT | ID | SWHW | TSONLY)) 0.002
read -r hw _ _ _ sw _ < <(compared 40)
same "both" "40 40" "$hw $sw"
# A stream: the last byte of each call is stamped.
bg b socat -u TCP-LISTEN:7001,reuseaddr,fork OPEN:/dev/null
wait_tcp b 7001
export STREAM=7001
stamped ptp 40 $((TX_HW | RAW | ID)) 0.001
counts "a stream: each by hardware, with the packet" 40 "hw 40 order 1 sw 0 data 40"
ok "a stream: when the packet left ($MOST us off at most)" test "$MOST" -lt 500
# Some segments of this stream are lost and sent again: there is a stamp for each time that they leave.
SIM_OPTIONS=lose=8
stamped ptp 40 $((TX_HW | RAW | ID)) 0.03
SIM_OPTIONS=
again() {
	python3 - "$TESTS/sim" "$TMP" <<-'PY'
		import sys
		sys.path.insert(0, sys.argv[1])
		import capture
		left = {}
		for t, frame in capture.read(sys.argv[2] + "/capture.pcap"):
		    if frame[-8:-3] == b"stamp":
		        left.setdefault(int(frame[-3:]), []).append(t)
		got = {}
		for line in open(sys.argv[2] + "/stamps"):
		    if not line.startswith("now"):
		        got.setdefault(int(line.split()[0]), []).append(int(line.split()[2]))
		# (The program ends when it has as many stamps as it wrote, or more.)
		wrong = [n for n in got if len(got[n]) > len(left[n])
		         or any(abs(a - b) > 500000 for a, b in zip(got[n], left[n]))]
		print(sum(map(len, got.values())), len(wrong), sum(len(g) > 1 for g in got.values()))
	PY
}
read -r stamps wrong twice < <(again)
same "a stream that is lost in part: $stamps stamps, wrong ones" 0 "$wrong"
ok "a stream that is lost in part: $twice numbers more than once" test "$twice" -ge 2
unset STREAM
stamped system 60 $((TX_HW | RAW | ID | TSONLY)) 0.002
counts "system time" 60 "hw 60 order 1 sw 0 data 0"
ok "system time, from the counter ($MOST us off at most)" test "$MOST" -lt 20000
stamped best_effort 5 $((TX_HW | RAW | ID | TSONLY))
counts "best effort is system time" 5 "hw 5 order 1 sw 0 data 0"
ok "best effort ($MOST us off at most)" test "$MOST" -lt 20000
stamped raw 60 $((TX_HW | RAW | ID | TSONLY)) 0.002
counts "raw" 60 "hw 60 order 1 sw 0 data 0"
ok "raw: the device's own time ($MOST us), which runs as the capture's ($VARY us)" \
	test "$MOST" -gt 1000000 -a "$VARY" -lt 2000
# Paced: the stamp says when the packet left, not when it was sent. Eleven datagrams of some 50 bytes at 2,000 bytes a
# second.
spread() { awk '/^now/ { next } { t = $2 + $3; if (!first) first = t; last = t } END { print int((last - first) / 1e6) }' "$TMP/stamps"; }
stamped ptp 11 $((TX_HW | RAW | ID)) 0 2000
counts "paced, by hardware" 11 "hw 11 order 1 sw 0 data 11"
ok "paced: when the packet left ($MOST us off at most), over $(spread) ms" test "$MOST" -lt 500 -a "$(spread)" -gt 100
SL_ENV=(SLUICE_TX_BACKEND=xsk) # (the NIC's own queue takes them at once, and paces itself)
sa python3 "$TESTS/sim/stamps.py" "$B4" 7000 11 $((TX_SW | SOFT | ID | TSONLY)) 0 2000 >"$TMP/stamps"
counts "paced, by software" 11 "hw 0 order 1 sw 11 data 0"
ok "paced, by software, over $(spread) ms" test "$(spread)" -gt 100
stamped disable 20 $((TX_HW | TX_SW | RAW | SOFT | ID | TSONLY))
counts "switched off: by software" 20 "hw 0 order 1 sw 20 data 0"
SL_ENV=(SLUICE_TX_BACKEND=xsk)
sa python3 "$TESTS/sim/stamps.py" "$B4" 7000 20 $((TX_HW | TX_SW | RAW | SOFT | ID | TSONLY)) >"$TMP/stamps"
counts "by AF_XDP: by software" 20 "hw 0 order 1 sw 20 data 0"
done_testing
