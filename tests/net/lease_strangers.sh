#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Another user sends the daemon each request that there is, with the names, numbers and descriptors of a server of the
# first user's: nothing of it is granted, and the server's UDP and TCP go on without a loss.
. "$(dirname "$0")/lib_lease.sh"
need python3
lease_up
daemon_ends
daemon_starts "allow user 65534 join shared,secret
allow user 1001 join shared
allow user 1002 join * repair no flows 1 lanes 1 clients 2 device $DEV_B"
run=$TESTS/net/lease_strangers.py
SL_ENV+=("SLUICE_GROUP=shared")
bg sb python3 "$run" serve "$B4" 7700
server=$BG
wait_tcp b 7700
wait_until 20 has_claim 7700 || fail "the server is not offloaded"
bg a python3 "$run" use "$B4" 7700 "$TMP/used"
answered() { awk -v n="$1" '{ exit !($1 > n) }' "$TMP/used" 2>/dev/null; }
wait_until 20 answered 20 || fail "the server does not answer"
claims() { bpftool map dump pinned "/sys/fs/bpf/sluice/$LOW_B/$1" 2>/dev/null | grep -c "\"local_port\": 7700"; }
before="$(claims endpoints) $(claims flows)"
rport=$(a ss -Htn "dport = :7700" | awk '{ sub(/.*:/, "", $4); print $4; exit }')
b timeout 60 python3 "$run" attack "$TMP/sluiced.b" "$B4" 7700 "$(ip -n "${NS}b" -o link show "$DEV_B" | cut -d: -f1)" "$server" 1001 "$A4" \
	"$rport" "/run/netns/${NS}a" >"$TMP/attack" 2>&1
ops=$(grep -c '^SL_LEASE(' "$TOP/lib/ctl/lease/lease.def")
same "each request was sent, and none was granted that may not be" "narrow: done
refused to secret
cases $ops of $ops" "$(cat "$TMP/attack")"
same "the claims are as before" "$before" "$(claims endpoints) $(claims flows)"
read -r n lost <"$TMP/used"
wait_until 10 answered $((n + 50)) || fail "the server answers no more"
read -r n lost <"$TMP/used"
same "nothing of $n questions by UDP and TCP was lost" 0 "$lost"
if grep -q 'not steered any more' "$TMP"/sluice.*.log; then fail "the server has lost the device"; else pass "the server keeps the device"; fi
ok "the server has its lease" leases_are 1
ok "the daemon lives" daemon_answers
done_testing
