#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# VLAN devices of several processes that share a daemon: each is offloaded on its own VLAN devices and on shared ones,
# also after the daemon and one of the processes were killed. A hostile process gets no VLAN device that it may not have.
. "$(dirname "$0")/lib_lease.sh"
need python3
VLANS=5
lease_up
for vid in 6 7; do
	vlan_up a "$LOW_A" $vid && vlan_up b "$LOW_B" $vid || die "no VLAN device $vid"
done
A4V=$NET4.129 B4V=$NET4.130
ip -n "${NS}a" addr change "$A4/25" dev "$DEV_A"
addr_up a "$LOW_A.6" "$A4V/32"
addr_up b "$LOW_B.6" "$B4V/32"
ip -n "${NS}a" route add "$B4V/32" dev "$LOW_A.6" src "$A4V"
ip -n "${NS}b" route add "$A4V/32" dev "$LOW_B.6" src "$B4V"
ip -n "${NS}b" link set "$LOW_B.7" up
POLICY="allow user * device $LOW_B,$LOW_B.5,$LOW_B.6"
daemon_ends
daemon_starts "$POLICY"
servers=() files=()
for s in "$B4 7000" "$B4 7001" "$B4V 7002"; do
	read -r addr port <<<"$s"
	bg sb "$BIN/echo" "$addr" "$port"
	servers+=("$BG")
	ok "port $port is claimed" wait_until 10 has_claim "$port"
	bg a "$BIN/steady" -i 1000 "$addr" "$port" "$TMP/port-$port"
	files+=("$TMP/port-$port")
	wait_until 10 grows "$TMP/port-$port" 50
done
go_on "three processes, two VLANs"
same "each VLAN has one number" "1 1 2" "$(python3 -c '
import json, sys
print(*sorted(e["value"]["flags"] >> 26 for e in json.load(open(sys.argv[1])) if e["key"]["vlan"]))' <(
	bpftool -j map dump pinned "/sys/fs/bpf/sluice/$LOW_B/endpoints" | python3 -c '
import json, sys
print(json.dumps([e["formatted"] for e in json.load(sys.stdin) if 7000 <= e["formatted"]["key"]["local_port"] <= 7002]))'))"

number() { b ip -o link show "$1" | cut -d: -f1; }
out=$(sb env -u LD_PRELOAD python3 "$TESTS/net/lease_vlan.py" "$TMP/sluiced.b" "$B4" "$(number "$LOW_B")" \
	"$(number "$LOW_B.5")" "$(number "$LOW_B.6")" "$(number "$LOW_B.7")" 2>&1)
same "a hostile process gets nothing" 0 $?
printf '%s\n' "$out" | grep -v '^ok'
ok "all of it was tried" grep -q "^ok: the end" <<<"$out"
go_on "after it"

# The numbers are kept.
kill -9 "$(daemon_pid)"
wait_until 10 not daemon_answers
daemon_starts "$POLICY"
go_on "after the daemon was killed"
kill -9 "${servers[0]}"
wait "${servers[0]}" 2>/dev/null
ok "the killed process has no claim" wait_until 10 not has_claim 7000
files=("${files[@]:1}")
go_on "after a process was killed"
bg sb "$BIN/echo" "$B4" 7003
ok "another process takes its place" wait_until 10 has_claim 7003

# The policy, also for a program of the library.
ip -n "${NS}b" addr add "$NET4.201/32" dev "$LOW_B.7"
bg sb "$BIN/echo" "$NET4.201" 7004
ok "the policy's refusal is told" wait_until 10 logged "$LOW_B.7 stays with the kernel: sluiced: the policy does not give $LOW_B.7"
ok "nothing is claimed there" not has_claim 7004
done_testing
