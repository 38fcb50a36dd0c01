#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# A user of the same group whose socket has the port of another user's server beside it lets a flow of that server's pass to the kernel: the
# daemon refuses that, and the connection goes on.
. "$(dirname "$0")/lib_lease.sh"
need python3
lease_up
echo "allow user * join shared" >"$TMP/sluiced.b.conf"
kill -HUP "$(daemon_pid)"
PY=$TESTS/net/hostile_pass.py
mkfifo "$TMP/to"
exec 9<>"$TMP/to"
bg b python3 "$PY" attack "$TMP/sluiced.b" "$DEV_B" "$B4" 7000 "$A4" <"$TMP/to" >"$TMP/attack" 2>&1 9>&-
wait_line "$TMP/attack" bound
SL_ENV+=("SLUICE_GROUP=shared")
LEASED_UID=1002
bg sb python3 "$PY" serve "$B4" 7000
unset LEASED_UID
wait_tcp b 7000
wait_until 10 has_claim 7000 || die "the server is not offloaded"
bg a python3 "$PY" ask "$B4" 7000 2 >"$TMP/ask"
ask=$BG
wait_until 10 test -s "$TMP/ask"
nap 300
cat "$TMP/ask" >&9
given() { [ "$(wc -l <"$TMP/attack")" = 2 ]; }
wait_until 10 given
same "the daemon refuses" -1 "$(tail -n 1 "$TMP/attack")"
ok "the client comes to its end" wait_end "$ask" 20

done_testing
