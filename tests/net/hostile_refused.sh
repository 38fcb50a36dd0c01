#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Members of a group die with waiting connections to peers to which the kernel makes none: the daemon lives.
. "$(dirname "$0")/lib_lease.sh"
lease_up
daemon=$(daemon_pid)
came() { [ "$(grep -c ^dies "$TMP/hostile")" -ge 3 ]; }
bg b setpriv --reuid=65533 --regid=65533 --clear-groups "$BIN/hostile" "$TMP/sluiced.b" "$DEV_B" refused >"$TMP/hostile" 2>&1
ok "members die" wait_until 30 came
kill -9 "$BG"
wait "$BG" 2>/dev/null
ok "their leases end" wait_until 30 leases_are 0
same "the daemon lives" "$daemon" "$(daemon_pid)"
done_testing
