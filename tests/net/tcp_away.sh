#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# A short write that waits for an acknowledgement leaves when it comes, although the program is away from its calls, and
# the keeper's tick is far.
. "$(dirname "$0")/lib_tcp.sh"
need python3
net_up
SL_ENV=(SLUICE_PROGRESS_ENGINE_INTERVAL=250)
for MODE in kernel one; do
	for fam in ${FAMILIES:-4}; do
		to=A$fam
		for how in sleep compute poll; do
			meet
			bg a python3 "$TESTS/net/tcp_away.py" server "${!to}" 7000 8 >"$TMP/away"
			server=$BG
			wait_tcp a 7000
			pb python3 "$TESTS/net/tcp_away.py" client "${!to}" 7000 8 $how || fail "$how: the client: $?"
			wait_end "$server" 20 || fail "$how: the server: $?"
			n=$(sed -n 's/^late //p' "$TMP/away")
			ok "IPv$fam, $how: $n of 8 came late" test "${n:-9}" -le 2
		done
	done
done
done_testing
