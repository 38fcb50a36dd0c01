#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# An address is taken off the host while sockets have it: what comes for it then is not delivered, as by the kernel, and
# connections go on when it is back. An address that a route makes local counts as there.
. "$(dirname "$0")/lib.sh"
need python3
net_up
peer_is_kernels
mac=$(ip -n "${NS}b" -j link show "$DEV_B" | sed 's/.*"address":"\([^"]*\)".*/\1/')
for addr in "$B4" "$B6"; do a ip neigh replace "$addr" lladdr "$mac" nud permanent dev "$DEV_A"; done
off() { # the routes stay
	b ip addr del "$1/$2" dev "$DEV_B"
	b ip route replace "$3/$4" dev "$DEV_B"
}
on() {
	local how=()
	[ "$2" = 24 ] || how=(nodad)
	b ip addr add "$1/$2" dev "$DEV_B" "${how[@]}"
}
step() { # number, command...
	wait_until 20 test -e "$TMP/moments/ask.$1" || die "the program does not come to moment $1: $(cat "$TMP/said")"
	shift
	"$@"
}
done_with() { nap 100; : >"$TMP/moments/done.$1"; }
moments() { # own peer bits
	step 1 kill -USR1 "$far" && done_with 1
	step 2 off "$1" "$3" "$2" "$4"
	nap 50
	kill -USR1 "$far"
	done_with 2
	step 3 on "$1" "$3" && done_with 3
	step 4 kill -USR1 "$far" && done_with 4
	step 5 off "$1" "$3" "$2" "$4"
	b ip route add local "$1" dev lo
	nap 50
	kill -USR1 "$far"
	done_with 5
	wait_end "$subject" 30 || fail "the program ends: $(cat "$TMP/said")"
	b ip route del local "$1" dev lo
	on "$1" "$3"
	a ip neigh replace "$1" lladdr "$mac" nud permanent dev "$DEV_A"
}
for MODE in $MODES; do
	for fam in ${FAMILIES:-4 6}; do
		rm -rf "$TMP/moments"
		mkdir -m 777 "$TMP/moments"
		own=B$fam peer=A$fam
		bg a python3 "$TESTS/net/address_gone.py" "${!own}" "${!peer}"
		far=$BG
		wait_tcp a 7001
		bg pb python3 "$TESTS/net/address_gone.py" "${!own}" "${!peer}" "$TMP/moments" >"$TMP/said" 2>&1
		subject=$BG
		[ "$fam" = 4 ] && moments "$B4" "$A4" 24 32 || moments "$B6" "$A6" 64 128
		differ "gone$fam" cat "$TMP/said"
		kill "$far"
		wait "$far" 2>/dev/null
	done
done
done_testing
