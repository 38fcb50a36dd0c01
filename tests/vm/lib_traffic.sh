# SPDX-License-Identifier: BSD-2-Clause
# Sends checked traffic between a preloaded program on b and a program on a, and looks for messages in the log.
# shellcheck shell=bash source=lib.sh

traffic_begin() { # after net_up
	MODE=one
	bg a python3 "$VM_DIR/bytes.py" serve "$A4" 7001
	wait_tcp a 7001
}
# Sends datagrams of all sizes, then bytes over TCP. BY_KERNEL: 1 if the kernel must have the connection, else 0.
traffic() { # WHAT BY_KERNEL [SETTING=VALUE...]
	local what=$1 by=$2 want="200000 $2"
	shift 2
	SL_ENV=("$@")
	rm -f "$TMP"/sluice.*.log
	offload_begin
	ok "$what: datagrams, bytes over TCP" sb python3 "$VM_DIR/bytes.py" ask "$A4" 7001 200000 "$TMP/asked" 20
	same "$what: connections of the kernel" "$want" "$(cat "$TMP/asked")"
	[ "$(cat "$TMP/asked")" = "$want" ] || grep -h 'port:' "$TMP"/sluice.*.log
	if [ "$by" = 0 ]; then offload_end 20; fi
}
says() { # text
	if cat "$TMP"/sluice.*.log | grep -qF -- "$1"; then
		pass "said: $1"
	else
		fail "never said: $1"
		grep -h 'port:' "$TMP"/sluice.*.log
	fi
}
