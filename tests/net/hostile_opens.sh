#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# A user opens and closes a device, or a lane, without a pause: the daemon answers another user meanwhile.
. "$(dirname "$0")/lib_lease.sh"
need python3
lease_up
echo "allow user *" >"$TMP/sluiced.b.conf"
kill -HUP "$(daemon_pid)"
seconds=0.5
[ "${RX:-}" != xdp ] || seconds=2 # (to attach XDP to a veth takes up to half a second)
b timeout 60 python3 "$TESTS/net/hostile_opens.py" "$TMP/sluiced.b" "$DEV_B" "$seconds" >"$TMP/opens"
same "it came to its end" 0 $?
read -r _ alone <"$TMP/opens"
while read -r what n; do
	ok "$what: a tenth of the answers that come otherwise ($n of $alone)" test $((n * 10)) -ge "$alone"
done < <(tail -n +2 "$TMP/opens")
done_testing
