# SPDX-License-Identifier: BSD-2-Clause
# Whether others had the processors while a test measured.
#
#   others_begin, others_end    around what is measured
#   disturbed                   they had a fifth of one, or more: OTHERS_MS of TOOK_MS
#
# shellcheck shell=bash

# Hundredths of seconds that the machine's programs have used so far, less ours, and that the hypervisor gave
# to other machines, in OTHERS. (`times` knows of no children in a subshell.)
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
