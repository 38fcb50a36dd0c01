#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# A program that is started has a datagram socket, too, and leaves it alone. The claims go while datagrams come, and the
# daemon takes long for it: what is on the ring then comes before what the kernel gets.
. "$(dirname "$0")/lib_lease.sh"
need python3 strace
unsanitized "strace and the sanitizers do not go together"
lease_up
bg a python3 "$TESTS/net/udp_lent.py" serve "$A4" 7000
wait_udp a 7000
bg b strace -f -qq -p "$(daemon_pid)" -r -o "$TMP/trace" -e trace=bpf -e inject=bpf:delay_enter=8000:delay_exit=8000
slow=$BG
sb timeout 60 python3 "$TESTS/net/udp_lent.py" rest "$B4" "$A4" 7000 >"$TMP/out" 2>"$TMP/err"
same "the program ends" 0 $?
same "all is in order" "" "$(grep -v -e ' in order in order$' -e '^some' "$TMP/out" "$TMP/err")"
same "all has been tried" 12 "$(grep -c 'in order$' "$TMP/out")"
n=$(grep -c "some by each: True" "$TMP/out")
ok "$n times the claims went in between" test "$n" -ge 3
stop "$slow"
done_testing
