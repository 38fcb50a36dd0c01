#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# SRT: a transport of the program's own over UDP, with acknowledgements and retransmissions by its timers.
. "$(dirname "$0")/lib.sh"
need srt-file-transmit
net_up
files 10 70000 3000000
mkdir -m 777 "$TMP/in"
export URL=srt://$B4:7778
server() { # (one transfer ends the program)
	bg pb bash -c 'trap "kill \$!; exit" TERM
		while :; do srt-file-transmit -q "$URL?mode=listener" "file://$TMP/in/" & wait $!; done'
}
talk() {
	for n in 10 70000 3000000; do
		# (A caller that comes between two listeners sends to nobody, and does not say so.)
		for _ in $(seq 20); do
			timeout 10 srt-file-transmit -q "file://$TMP/www/$n" "$URL" >/dev/null 2>&1
			for _ in $(seq 10); do
				cmp -s "$TMP/www/$n" "$TMP/in/$n" && break 2
				sleep 0.1
			done
		done
		cmp "$TMP/www/$n" "$TMP/in/$n" && echo "$n bytes"
		rm -f "$TMP/in/$n"
	done
}
zoo srt 7778 udp
done_testing
