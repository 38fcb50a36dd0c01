#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# A user claims as many flows as it can get of a daemon whose control group has 32 MB, or opens as many lanes: the user is
# refused with a reason before the kernel would end the daemon, and another user still gets a lease with its claims.
. "$(dirname "$0")/lib_lease.sh"
unsanitized "a sanitizer takes more memory than the group has"
need python3
export SLUICE_RX_BACKEND=packet # (by XDP the kernel charges all packet memory to the daemon)
. "$TESTS/net/lib_memory.sh"
need_group
echo 32M >"$GROUP/$LIMIT"
# shellcheck disable=SC2016 # the shell on host b expands it
DAEMON_BY=(bash -c 'echo $$ >"$0" && exec "$@"' "$GROUP/cgroup.procs")
lease_up
echo "allow user * join shared" >"$TMP/sluiced.b.conf"
kill -HUP "$(daemon_pid)"
daemon=$(daemon_pid)
attack() { b timeout 60 python3 "$TESTS/net/hostile_memory.py" "$@" "$TMP/sluiced.b" "$DEV_B" "$B4"; }
for what in claims lanes; do
	out=$(attack $what)
	same "$what: refused with a reason, others not" "refused: memory
other user: 100 claims" "$out"
done
same "the daemon lives" "$daemon" "$(daemon_pid)"
ok "the daemon answers" daemon_answers
daemon_ends
wait_until 5 rmdir "$GROUP"
done_testing
