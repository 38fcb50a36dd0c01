#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Paced queues of the simulated NIC: the long-run rate at the receiver, by the completions' stamps and
# by the departure times in the capture file; bursts where the device has them.
. "$(dirname "$0")/lib.sh"
. "$TESTS/net/lib_others.sh"
sim_need
net_up -m 9000

near() { # got, wanted, permille
	awk -v g="$1" -v w="$2" -v p="$3" 'BEGIN { d = g > w ? g - w : w - g; exit !(d * 1000 <= p * w) }'
}
within() { # what, got, wanted, permille
	ok "$1: $2 of $3 kbit/s" near "$2" "$3" "$4"
}
stamped() { sed -n 's/^stamp_rate_kbps //p' "$TMP/sent"; }
captured() { sed -n "s/^$1 //p" "$TMP/captured"; }
not_over() { # got, wanted, permille
	awk -v g="$1" -v w="$2" -v p="$3" 'BEGIN { exit !((g - w) * 1000 <= p * w) }'
}
paced() { # kbit/s, frames, bytes of each
	others_begin
	receive udp="$2" kbps="$1"
	ok "$1 kbit/s is sent" sim "$SIM_BIN/send" paced "kbps=$1" "count=$2" "size=$3" >"$TMP/sent"
	received
	others_end
	python3 "$TESTS/sim/capture.py" "$SIM_CAPTURE" "rate=$1" >"$TMP/captured"
	same "all frames" "$2" "$(value udp_frames)"
	same "in order" 0 "$(value udp_bad_order)"
	ok "not faster by the stamps: $(stamped)" not_over "$(stamped)" "$1" 2
	ok "nor by the capture file: $(captured rate_kbps)" not_over "$(captured rate_kbps)" "$1" 2
	same "stamps go on" 0 "$(sed -n 's/^stamps_backward //p' "$TMP/sent")"
	same "no frame departs before its time" 0 "$(captured early)"
	say "  (simulated) p99 gap: $(value gap_p99_us) us at the receiver"
}

sim_up
SIM_CAPTURE=$SIM/capture.pcap
for rate in "1000 120 1250" "20000 1000 1250" "200000 4000 1250" "1000000 3000 8000"; do
	# (Up to five tries: the thread that plays the hardware may be late with the last frame, or the program
	# with the next ones, and nothing makes up for that.)
	for try in 1 2 3 4 5; do
		# shellcheck disable=SC2086
		paced $rate
		near "$(value rate_kbps)" "${rate%% *}" 10 && near "$(stamped)" "${rate%% *}" 2 && break
	done
	ok "not faster at the receiver: $(value rate_kbps)" not_over "$(value rate_kbps)" "${rate%% *}" 10
	if disturbed && { ! near "$(value rate_kbps)" "${rate%% *}" 10 || ! near "$(stamped)" "${rate%% *}" 2; }; then
		say "  not judged: $(value rate_kbps) of ${rate%% *}, while others used $OTHERS_MS of $TOOK_MS ms"
		continue
	fi
	within "by the stamps" "$(stamped)" "${rate%% *}" 2
	within "by the capture file" "$(captured rate_kbps)" "${rate%% *}" 2
	within "at the receiver, try $try" "$(value rate_kbps)" "${rate%% *}" 10
done
SIM_CAPTURE=

ok "a burst size can be set" sim "$SIM_BIN/send" paced kbps=50000 burst=5000 packet=1250 count=200 >"$TMP/sent"
within "with a burst, by the stamps" "$(stamped)" 50000 40
sim_up burst=0
refused() { ! sim "$SIM_BIN/send" paced kbps=50000 burst=5000 packet=1250 2>"$TMP/err"; }
ok "not where the device has no bursts" refused
done_testing
