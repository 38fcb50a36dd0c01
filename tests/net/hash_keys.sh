#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# The keys of a program's hash tables, with which a peer could aim at one place of them, are in its own memory alone: a
# child, which may become another user, does not have them.
. "$(dirname "$0")/lib_lease.sh"
need python3 strace
unsanitized "strace and the sanitizers do not go together"
lease_up
a sysctl -qw net.ipv4.tcp_fastopen=3
for dev in all "$DEV_B"; do b sysctl -qw "net.ipv4.conf.$dev.rp_filter=1"; done
: >"$TMP/asked"
chmod 666 "$TMP/asked"
bg sb strace -f -qq -xx -s 64 -e trace=getrandom -e signal=none -o "$TMP/asked" \
	timeout 60 python3 "$TESTS/net/secrets.py" "$B4" 7000 "$TMP/asked" keys >"$TMP/b" 2>&1
server=$BG
wait_until 20 has_claim 7000 || fail "the server is not offloaded"
ok "a client is answered" a timeout 20 python3 "$TESTS/net/secrets.py" ask "$B4" 7000
ok "the server ends" wait_end "$server" 40
said() { sed -n "s/^$1: //p" "$TMP/b"; }
n=$(said "the server" | grep -o "key" | wc -l)
ok "the server has keys for neighbours, ways and sources ($n)" test "$n" -ge 3
same "a child has none" "[]" "$(said fork)"
same "nor has one that is made by the bare instruction" "[]" "$(said bare)"
[ "$(wc -l <"$TMP/b")" = 3 ] || cat "$TMP/b"
done_testing
