#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# sluice capture: all packets of an offloaded program are in the file or in the drop counts, with right checksums, in
# both directions, by filter; two captures at a time; the tool and the program are killed. Embedded, and by a daemon.
. "$(dirname "$0")/lib.sh"
TOOL=$BUILD/sluice
need_built
need python3 iperf3 sockperf
net_up
MODE=capture

capture() { b "$TOOL" capture -k "$SLUICE_STATS_SHMEM_DIR" "$@"; }
read_it() { python3 "$TESTS/net/capture_read.py" "$1" >"$TMP/sum" || { fail "$1 is no pcapng"; echo '{}' >"$TMP/sum"; }; }
sum() { python3 -c 'import json, sys; s = json.load(open(sys.argv[1])); print(int(eval(sys.argv[2], {}, s)))' "$TMP/sum" "$1"; }
holds() { [ "$(sum "$1")" = 1 ] || { cat "$TMP/sum"; return 1; }; }
stat_of() { # counter of the lanes of the program
	b "$TOOL" stat --json -k "$SLUICE_STATS_SHMEM_DIR" -p "$SERVER" | python3 -c '
import json, sys
print(sum(l[sys.argv[1]] for l in json.load(sys.stdin)["lanes"]))' "$1"
}
begin() { # log, options: a capture in the background that has begun; CAPTURE is its process
	local log=$1
	shift
	bg b "$TOOL" capture -k "$SLUICE_STATS_SHMEM_DIR" "$@" 2>"$log"
	CAPTURE=$BG
	wait_line "$log" "programs"
}
finish() { kill -INT "$1"; wait_end "$1" 20; }

# UDP ------------------------------------------------------------------------------------------
bg sb sockperf server -i "$B4" -p 5001 >"$TMP/server" 2>&1
SERVER=$BG
wait_udp b 5001
begin "$TMP/log1" -w "$TMP/all" -p "$SERVER"
FIRST=$CAPTURE
begin "$TMP/log2" -w "$TMP/in" -p "$SERVER" --in udp port 5001
SECOND=$CAPTURE
begin "$TMP/log3" -w "$TMP/out" -p "$SERVER" outbound and udp port 5001
THIRD=$CAPTURE
R0=$(stat_of rx_pkts) T0=$(stat_of tx_pkts)
a sockperf ping-pong -i "$B4" -p 5001 -t 1 --mps=2000 >"$TMP/client" 2>&1 || fail "sockperf client"
ok "the first capture ends" finish "$FIRST"
ok "the second ends" finish "$SECOND"
ok "the third ends" finish "$THIRD"
R=$(($(stat_of rx_pkts) - R0)) T=$(($(stat_of tx_pkts) - T0))
read_it "$TMP/all"
ok "there were packets" test "$R" -gt 500 -a "$T" -gt 500
ok "all received ones are in the file or lost ($R)" holds "rx + isb_drop >= $R and rx <= $R"
ok "all sent ones ($T)" holds "tx + isb_drop >= $T and tx <= $T"
ok "nothing was lost at this rate" holds "isb_drop == 0"
ok "checksums are right" holds "bad == 0"
ok "they name program and socket" holds "named == n"
ok "interface and statistics" holds "ifs == 1 and isb == 1"
read_it "$TMP/in"
ok "the other capture has one direction" holds "rx == $R and tx == 0"
read_it "$TMP/out"
ok "the third has the other, by a filter that asks for it" holds "rx == 0 and tx == $T"

# Flows, lanes and lengths --------------------------------------------------------------------------
# Two clients with crossed ports: only their ends as pairs tell them apart.
begin "$TMP/device" -w /dev/null -i "$DEV_B"
finish "$CAPTURE"
ok "a device that a program has is not said to be missing" not grep -q "no program has" "$TMP/device"
stop "$SERVER"
bg sb "$BIN/echo" "$B4" 5001
SERVER=$BG
wait_udp b 5001
ends() { # options: captures what the clients send and get
	begin "$TMP/log1" -w "$TMP/ends" -p "$SERVER" "$@"
	a python3 "$TESTS/net/capture_ask.py" "$A4" "$B4" 5001 120 6001 6002 || fail "the clients"
	finish "$CAPTURE"
	read_it "$TMP/ends"
}
ends --flow "udp   $B4:5001   $A4:6001"
ok "one flow of two, both directions" holds "rx > 50 and tx > 50 and ports == [5001, 6001]"
ok "with right checksums" holds "bad == 0"
ends --flow "$A4:5001,$B4:6001" --flow "tcp $B4:5001 -"
ok "ports of the other end, or another protocol, are another flow" holds "n == 0"
ends -s 60 --flow "$B4:5001,*:6002" --flow "*:6001"
ok "two flows" holds "ports == [5001, 6001, 6002]"
ok "60 bytes of each packet" holds "n > 0 and max_cap == 60 and max_wire == 106"
ends -s 20 udp port 6001
ok "20 bytes are written, the filter sees all" holds "n > 100 and max_cap == 20 and max_wire == 106"
LANE=$(b "$TOOL" flow -k "$SLUICE_STATS_SHMEM_DIR" --json -p "$SERVER" | python3 -c 'import json, sys; print(json.load(sys.stdin)[0]["lane"])')
ends --lane "$LANE" --flow "$(b "$TOOL" flow -k "$SLUICE_STATS_SHMEM_DIR" -p "$SERVER" | awk 'NR == 2 { print $1, $2, $3 }')"
ok "the flow as listed, on its lane" holds "rx > 100 and tx > 100"
ends --lane $((LANE + 1))
ok "nothing on another lane" holds "n == 0"
ends -i "$DEV_B"
ok "by device" holds "rx > 100 and tx > 100"
ends -i lo
ok "nothing on another device" holds "n == 0"
mkfifo "$TMP/extcap"
bg b cat "$TMP/extcap" >"$TMP/ends"
bg b "$TOOL" capture -k "$SLUICE_STATS_SHMEM_DIR" --capture --extcap-interface sluice --fifo "$TMP/extcap" \
	--extcap-capture-filter "udp port 6001" 2>"$TMP/log1"
CAPTURE=$BG
wait_line "$TMP/log1" "programs"
a python3 "$TESTS/net/capture_ask.py" "$A4" "$B4" 5001 120 6001 6002 || fail "the clients"
finish "$CAPTURE"
read_it "$TMP/ends"
ok "as Wireshark calls it (extcap), with a filter" holds "rx > 50 and tx > 50 and ports == [5001, 6001]"

# TCP, through a pipe that is read while it runs ---------------------------------------------------
stop "$SERVER"
bg sb iperf3 -s -p 5201 >"$TMP/server" 2>&1
SERVER=$BG
wait_tcp b 5201
begin "$TMP/log1" -w "$TMP/tcp" -p "$SERVER" -B 64
FIRST=$CAPTURE
begin "$TMP/log2" -w "$TMP/syn" -p "$SERVER" "tcp[tcpflags] & tcp-syn != 0"
SECOND=$CAPTURE
a timeout 60 iperf3 -c "$B4" -p 5201 -n 20M >"$TMP/client" 2>&1 || fail "iperf3 to the program"
a timeout 60 iperf3 -c "$B4" -p 5201 -n 20M -R >"$TMP/client" 2>&1 || fail "iperf3 from the program"
ok "the first capture of TCP ends" finish "$FIRST"
ok "the second, too" finish "$SECOND"
read_it "$TMP/tcp"
ok "TCP in both directions" holds "rx > 0 and tx > 0"
# (iperf3's server ends when the client says that all was sent: what is on its way then is not read.)
ok "megabytes each" holds "rx_bytes > 10e6 and tx_bytes > 20e6"
ok "not a byte is missing, or the drop count says so" holds "isb_drop > 0 or holes == 0"
ok "TCP's checksums are right" holds "bad == 0"
read_it "$TMP/syn"
ok "a filter of TCP's flags" holds "0 < n <= 8 and rx * tx > 0"
if command -v tshark >/dev/null; then
	begin "$TMP/log1" -w "$TMP/pipe" -p "$SERVER" -c 20
	a timeout 60 iperf3 -c "$B4" -p 5201 -n 1M >"$TMP/client" 2>&1
	wait_end "$CAPTURE" 20
	same "tshark reads it" 20 "$(tshark -r - <"$TMP/pipe" 2>/dev/null | wc -l)"
fi

# Ends -----------------------------------------------------------------------------------------
maps() { grep -c 'memfd:sluice capture' "/proc/$SERVER/maps"; }
has_maps() { [ "$(maps)" = "$1" ]; }
begin "$TMP/log1" -w /dev/null -p "$SERVER"
ok "the program writes to a ring" has_maps 1
kill -9 "$CAPTURE"
wait "$CAPTURE" 2>/dev/null
ok "which goes when the tool is killed" wait_until 10 has_maps 0
a timeout 60 iperf3 -c "$B4" -p 5201 -n 1M >"$TMP/client" 2>&1
ok "the program goes on" test $? = 0
begin "$TMP/log1" -w "$TMP/killed" -p "$SERVER"
a timeout 60 iperf3 -c "$B4" -p 5201 -n 1M >"$TMP/client" 2>&1
kill -9 "$SERVER"
wait "$SERVER" 2>/dev/null
ok "the capture ends when the program is killed" wait_end "$CAPTURE" 20
read_it "$TMP/killed"
ok "and has what there was" holds "n > 30 and isb == 1"
ok "nothing is left in the directory" not compgen -G "$SLUICE_STATS_SHMEM_DIR/*.tap"

# Usage ----------------------------------------------------------------------------------------
refused() { capture "$@" >/dev/null 2>"$TMP/refused"; [ $? = 2 ]; }
ok "a wrong filter is refused" refused -w /dev/null "port port"
for flow in here 192.0.2.7 192.0.2.7: 192.0.2.7:0 192.0.2.7:65536 192.0.2:7 cafe:7 fd00::1:80 "[192.0.2.7]:7" "[fd00::1]" \
	"*:1," ",*:1" "*:1,,*:2" "- *:1" "sctp *:1" "tcp" "*:1 *:2 *:3" ""; do
	ok "no flow: '$flow'" refused -w /dev/null --flow "$flow"
	ok "the message shows it: '$flow'" grep -qF "ADDR:PORT [ADDR:PORT], found '$flow'" "$TMP/refused"
done
for option in "-s -1" "-s 1x" "-s 262145" "--lane x" "--lane -1" "--lane 100000" "--snaplen="; do
	# shellcheck disable=SC2086
	ok "no number: $option" refused -w /dev/null $option
	ok "the message shows the bounds: $option" grep -qF "a number from 0 to" "$TMP/refused"
done
begin "$TMP/nodevice" -w /dev/null -i nothere
finish "$CAPTURE"
ok "one that none has is" grep -q "no program has device nothere offloaded now" "$TMP/nodevice"
ok "a program that is not there is an error" not capture -w /dev/null -p 1 2>/dev/null
ok "extcap lists the interface" eval 'capture --extcap-interfaces | grep -q "^interface {value=sluice}"'
ok "and its link type" eval 'capture --extcap-dlts --extcap-interface sluice | grep -q "number=1"'
done_testing
