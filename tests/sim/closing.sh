#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# A program that closes everything, as daemons do, does not close the device's descriptors, which libibverbs has opened;
# nor do these take numbers that the program counts on.
VERBS=1
. "$(dirname "$0")/lib.sh"
net_up
MODE=simulated
bg b "$BUILD/tests/net/echo" "$B4" 7000
wait_udp b 7000

by_nic() { [ "$(figure frames)" -gt 0 ]; }
mkfifo "$TMP/go"
exec 7<>"$TMP/go"
bg sa python3 "$TESTS/sim/closing.py" "$B4" 7000 <"$TMP/go" >"$TMP/out"
# (The kernel asks for the neighbour, and the library knows it when the keeper has run: on a busy machine hundreds of
# datagrams later.)
ok "by the NIC" wait_until 20 by_nic
echo >&7
wait_line "$TMP/out" 'found its way'
BEFORE=$(figure frames)
echo >&7
ok "it ends" wait_end "$BG" 60
for way in closefrom close_range closerange 'a loop' dup2; do
	same "before $way: the first number, answers" "3 100" "$(sed -n "s/^before $way //p" "$TMP/out")"
	same "after $way" "3 100" "$(sed -n "s/^after $way //p" "$TMP/out")"
done
ok "by verbs" logged 'by verbs (simulated0'
ok "all the time" not logged 'from now on'
SIM=$TMP/nic.a
same "all of them by the NIC" 1000 $(($(counted frames) - BEFORE))
done_testing
