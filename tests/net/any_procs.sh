#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Programs of several processes and threads, drawn by a seed (any_procs.py): each call gives what it gives by the
# kernel, and the peer sees the same. SEEDS="$(seq 100)" STEPS=45 tries more of them, and prints the shortest that
# differ; SHRINK=no leaves them long, ONLY="0 1 9" runs these steps of a seed.
. "$(dirname "$0")/lib.sh"
SEEDS=${SEEDS:-200 204 208}
export STEPS=${STEPS:-25}
net_up
need python3
MODE=one
b sysctl -qw net.ipv4.ip_local_port_range="60000 65000"
a sysctl -qw net.ipv4.icmp_ratelimit=0 net.ipv6.icmp.ratelimit=0 net.ipv4.icmp_msgs_per_sec=100000
actor="python3 -ES $TESTS/net/any_procs_actor.py"
user=()
[ -z "${LEASED:-}" ] || user=(setpriv --reuid=65534 --regid=65534 --clear-groups --no-new-privs)
bg a python3 -ES "$TESTS/net/any_procs.py" "$TMP/conductor" "$B4" "$B6" "$A4" "$A6" 5000 $SEEDS >"$TMP/out"
conductor=$BG
wait_until 10 test -S "$TMP/conductor" || die "the conductor does not start"
bg b "${user[@]}" $actor "$TMP/conductor" kernel
bg sb $actor "$TMP/conductor" us
wait_end "$conductor" $(($(wc -w <<<"$SEEDS") * 120 + 60))
rc=$?
cat "$TMP/out"
same "programs give what they give by the kernel: $SEEDS" 0 $rc
done_testing
