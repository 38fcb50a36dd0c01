#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# A user claims ports without a pause on a host with very many connections, and for each claim the kernel walks through all
# of them. The daemon's loop does not wait for that, and the claims are judged as otherwise.
. "$(dirname "$0")/lib_lease.sh"
need python3 strace
unsanitized "strace and the sanitizers do not go together"
lease_up
echo "allow user *" >"$TMP/sluiced.b.conf"
kill -HUP "$(daemon_pid)"
bg b strace -qq -e trace=sendto -o "$TMP/asked" -p "$(daemon_pid)" 2>/dev/null
strace=$BG
b timeout 60 python3 "$TESTS/net/hostile_claims.py" "$TMP/sluiced.b" "$DEV_B" "/run/netns/${NS}a" \
	"$B4" "$B6" "$A4" "$A6" >"$TMP/hostile" 2>&1
same "claims are judged as with few connections" 0 $?
stop "$strace"
same "it came to its end" 3 "$(grep -c ^ok "$TMP/hostile")"
n=$(grep -c TCPDIAG_GETSOCK "$TMP/asked")
ok "the loop has the kernel walk through them at most twice for 41 claims ($n)" test "$n" -ge 1 -a "$n" -le 2
[ $FAILED = 0 ] || cat "$TMP/hostile"
pids=$(ip netns pids "${NS}b")
for p in $pids; do ! grep -qs hostile_claims "/proc/$p/cmdline" || kill "$p"; done
done_testing
