# SPDX-License-Identifier: BSD-2-Clause
# For scripts whose program has cases, each with a peer that echoes at port 7000 of host a: by the kernel, then offloaded.
# shellcheck shell=bash source=lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

echo_cases() { # program, case...; the program gets the case and the peer's address
	local program=$1 what
	shift
	need socat
	net_up
	bg a socat TCP-LISTEN:7000,fork,reuseaddr EXEC:cat
	wait_tcp a 7000
	SL_ENV+=("SLUICE_LOG_FILE=$TMP/log")
	for MODE in kernel one; do # (the peer is not preloaded)
		for what in "$@"; do
			differ "$what" pb timeout 60 python3 "$TESTS/net/$program" "$what" "$A4"
			[ "$MODE" = kernel ] || ok "$what: offloaded $(cat "$TMP/differ.err")" grep -q "offloaded" "$TMP/log"
			rm -f "$TMP/log"
		done
	done
}
