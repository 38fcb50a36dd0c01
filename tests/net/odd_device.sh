#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# The name of a device has escape sequences of terminals, as the administrator of a container may give it one: the tools
# print none, and their JSON is well formed.
. "$(dirname "$0")/lib_lease.sh"
need python3
lease_up
odd=$'e\e[7m"\\x'
ip -n "${NS}b" link set "$DEV_B" down
ip -n "${NS}b" link set "$DEV_B" name "$odd" || skip "a device cannot be named so here"
ip -n "${NS}b" link set "$odd" up
ip -n "${NS}b" addr replace "$B4/24" dev "$odd"
echo_as 65534 "$B4" 7000
has_device() { daemon ports | grep -q ' veth '; }
ok "it is lent" wait_until 10 has_device
control() { LC_ALL=C grep -c $'[\x01-\x08\x0b-\x1f\x7f]' "$TMP/out"; }
shows() { # WORDS of the tool: it shows the device, in characters that print
	b env SLUICE_DAEMON="$TMP/sluiced.b" timeout 20 "$BUILD/sluice" "$@" >"$TMP/out" 2>&1
	same "sluice $*: the name is there, and no control character" "yes 0" \
		"$(grep -qF 'e?[7m"' "$TMP/out" || grep -qF 'e?[7m\"' "$TMP/out" && echo yes) $(control)"
}
shows daemon ports
shows daemon leases
shows doctor
shows doctor --json
ok "the JSON is well formed" python3 -m json.tool "$TMP/out" /dev/null
shows stat -k "$SLUICE_STATS_SHMEM_DIR" -F --prometheus
cp "$TMP/sluice.db.log" "$TMP/out"
same "nor does the daemon's log" 0 "$(control)"
done_testing
