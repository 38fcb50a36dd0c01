#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Descriptors that the library passes between processes do not use up how many a user may have under way in UNIX sockets: neither the
# connections that a server leaves to its children when it ends, nor anything while it runs; and nothing stays behind.
. "$(dirname "$0")/lib_lease.sh"
need python3 prlimit
lease_up
LEASED_UID=60731
PY=$TESTS/net/in_flight.py
under_way() { b python3 "$PY" count $LEASED_UID; }
same "nothing is under way before" 0 "$(under_way)"
mkfifo "$TMP/end" "$TMP/children" "$TMP/client"
chmod 666 "$TMP"/*
exec 8<>"$TMP/end" 9<>"$TMP/children" 7<>"$TMP/client"
bg sb prlimit --nofile=1024:20000 python3 "$PY" serve "$B4" 7000 60 16 <"$TMP/end" 3<"$TMP/children" >"$TMP/b" 2>&1 8>&- 9>&- 7>&-
server=$BG
wait_tcp b 7000
bg a python3 "$PY" ask "$B4" 7000 60 <"$TMP/client" >"$TMP/a" 2>&1 7>&- 8>&- 9>&-
wait_line "$TMP/b" shared
wait_line "$TMP/a" 60
n=$(under_way)
ok "little is while the server runs ($n)" test "$n" -le 32
echo >&8
ok "the server ends" wait_end "$server" 20
n=$(under_way)
ok "what it leaves to 16 children is a part of 1,024 ($n)" test "$n" -gt 0 -a "$n" -le 128
ok "and the log says so" grep -q "connections that children share are cut off" "$TMP"/sluice.*.log
echo >&7
exec 9>&- 7>&-
none() { [ "$(under_way)" = 0 ]; }
ok "nothing is when they have ended" wait_until 10 none
n=$(b setpriv --reuid $LEASED_UID --clear-groups python3 "$TESTS/net/unread.py" "$TMP/sluiced.b" "$(b ip -o link show "$DEV_B" | cut -d: -f1)")
ok "few descriptors are under way to a client that does not read ($n)" test "${n:-0}" -gt 0 -a "${n:-99}" -le 10
[ $FAILED = 0 ] || cat "$TMP/a" "$TMP/b"
done_testing
