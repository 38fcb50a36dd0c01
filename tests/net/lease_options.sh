#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# A connection that the daemon makes the kernel's has the priority that the program gave it, although its type of
# service sets one as well.
. "$(dirname "$0")/lib_lease.sh"
need python3 socat
lease_up
bg a socat "TCP4-LISTEN:7000,reuseaddr,fork" EXEC:cat
echoes=$BG
wait_tcp a 7000
want="True 0 0 True 16 3 True 16 3 True 8 2"
same "the kernel's own" "$want" "$(b python3 "$TESTS/net/lease_options.py" "$A4" 7000 | xargs)"
same "handed back by the daemon" "$want" "$(SL_ENV=(SLUICE_TRACELEVEL=details) && sb python3 "$TESTS/net/lease_options.py" "$A4" 7000 | xargs)"
ok "it was offloaded" file_has <(cat "$TMP"/sluice.[0-9]*.log) "option 61 of level 1"
stop "$echoes"
done_testing
