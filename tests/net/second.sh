#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# A second process on the device stays with the kernel, works, and is told why; when the first has
# gone, the next one is offloaded.
. "$(dirname "$0")/lib.sh"
net_up
for MODE in $MODES; do
	[ "$MODE" != kernel ] || continue
	bg a "$BIN/echo" "$A4" 7000
	server=$BG
	wait_udp a 7000
	rm -f "$TMP"/steady* "$TMP"/sluice.*.log
	bg pb "$BIN/steady" "$A4" 7000 "$TMP/steady1"
	first=$BG
	wait_until 10 grows "$TMP/steady1" 100 || fail "the first does not run"
	bg pb "$BIN/steady" "$A4" 7000 "$TMP/steady2"
	second=$BG
	ok "the second runs" wait_until 10 grows "$TMP/steady2" 100
	# Both stand still while they are counted: on a busy machine the readings lie apart.
	kill -STOP "$first" "$second"
	in=$(udp_stat b InDatagrams)
	n1=$(answered "$TMP/steady1") n2=$(answered "$TMP/steady2")
	kill -CONT "$first" "$second"
	ok "both go on" wait_until 10 grows "$TMP/steady2" $((n2 + 300))
	kill -STOP "$first" "$second"
	in=$(($(udp_stat b InDatagrams) - in))
	n1=$(($(answered "$TMP/steady1") - n1)) n2=$(($(answered "$TMP/steady2") - n2))
	kill -CONT "$first" "$second"
	ok "the second by the kernel, the first not ($in by the kernel, $n1 and $n2 in all)" \
		test $((in - n2)) -le $((n1 / 5)) -a $((n2 - in)) -le $((n2 / 5))
	ok "it is told why" file_has "$TMP/sluice.$second.log" "$DEV_B.*process"
	stop "$first"
	ok "the first gone, the second lives" wait_until 10 grows "$TMP/steady2" $((n2 + 600))
	bg pb "$BIN/steady" "$A4" 7000 "$TMP/steady3"
	third=$BG
	wait_until 10 test -s "$TMP/steady3"
	kill -STOP "$second" "$third"
	offload_begin
	n2=$(answered "$TMP/steady2")
	kill -CONT "$second" "$third"
	ok "a third runs" wait_until 10 grows "$TMP/steady3" 500
	kill -STOP "$second" "$third"
	n2=$(($(answered "$TMP/steady2") - n2))
	in=$(($(udp_stat b InDatagrams) - K_IN))
	kill -CONT "$second" "$third"
	ok "and is offloaded ($in by the kernel, $n2 the second's)" test $in -le $((n2 + 100))
	stop "$second" "$third" "$server"
done
[ $PASSED -gt 0 ] || skip "the library is not built"
done_testing
