# SPDX-License-Identifier: BSD-2-Clause
# For the scripts that send the file $TMP/stream by the simulated NIC; SUM is its checksum.
# shellcheck shell=bash
fresh() { rm -f "$TMP"/sluice.*.log "$SIM"/report.* "$TMP/got"; }
wire() { sed -n "s/^$1 //p" "$TMP/wire"; } # figure
# Sends the file to the address, port 7001, and asserts that it arrives whole.
stream() { # what, address
	fresh
	b timeout 60 socat -u "TCP6-LISTEN:7001,ipv6only=0,reuseaddr" - </dev/null 2>/dev/null | sha256sum >"$TMP/got" &
	local got=$!
	wait_tcp b 7001
	ok "$1: the sender ends" sa timeout 60 python3 "$TESTS/sim/bulk.py" "$2" 7001 "$TMP/stream"
	wait "$got"
	same "$1: not a byte is lost" "$SUM" "$(cat "$TMP/got")"
}
# Sends the file; in the middle the NIC gets the command to fail. The library must send the rest by AF_XDP.
stream_fails() { # what, fault
	local got sender
	fresh
	b timeout 60 bash -c "socat -u TCP-LISTEN:7001,reuseaddr - | sha256sum" >"$TMP/got" &
	got=$!
	wait_tcp b 7001
	bg sa python3 "$TESTS/sim/slow_send.py" "$B4" 7001 "$TMP/stream"
	sender=$BG
	wait_until 30 test -e "$TMP/stream.half" || die "nothing is sent"
	nic_control a "$2" >"$TMP/control"
	rm "$TMP/stream.half"
	ok "$1: the sender ends" wait_end "$sender" 60
	wait "$got"
	same "$1: not a byte is lost" "$SUM" "$(cat "$TMP/got")"
	ok "$1: goes on by AF_XDP" grep -q 'by AF_XDP from now on' "$TMP"/sluice.*.log
}
