# SPDX-License-Identifier: BSD-2-Clause
# Tells whether other programs used the processors while a test measured.
#
#   others_begin, others_end    around the measurement
#   disturbed                   true: others used a fifth of a processor, or more: OTHERS_MS of TOOK_MS
#
# shellcheck shell=bash

# Sets OTHERS to the hundredths of seconds that the machine's other programs have used so far, and that the hypervisor
# gave to other machines. (In a subshell `times` would not count this script's children.)
used_by_others() {
	times >"$TMP/times"
	OTHERS=$(awk 'FNR == NR { for (i = 1; i <= 2; i++) { split($i, t, /[ms]/); own += t[1] * 6000 + t[2] * 100 } next }
		$1 == "cpu" { print int($2 + $3 + $4 + $9 - own) }' "$TMP/times" /proc/stat)
}
others_begin() {
	used_by_others
	OTHERS_BEFORE=$OTHERS
	BEGAN=${EPOCHREALTIME/./}
}
others_end() {
	TOOK_MS=$(((${EPOCHREALTIME/./} - BEGAN) / 1000))
	used_by_others
	OTHERS_MS=$(((OTHERS - OTHERS_BEFORE) * 10))
}
disturbed() { [ $((OTHERS_MS * 5)) -gt $TOOK_MS ]; }
