#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# VXLAN devices of several processes that share a daemon: the device below takes their packets out of VXLAN, also after the daemon
# and one of the processes were killed. A hostile process gets no VXLAN device that it may not have, and sends no frame by one.
. "$(dirname "$0")/lib_lease.sh"
need python3 bridge
lease_up
VX_A=192.168.77.1 VX_B=192.168.77.2
# (The kernel counts outer packets that it gets: hosts say nothing by themselves.)
for h in a b; do "$h" sh -c 'echo 1 >/proc/sys/net/ipv6/conf/default/disable_ipv6'; done
vxlan_up a vx 42 "$A4" "$B4" "$DEV_A" $VX_A && vxlan_up b vx 42 "$B4" "$A4" "$DEV_B" $VX_B || skip "no VXLAN devices"
vxlan_up a other 43 "$A4" "$B4" "$DEV_A" 192.168.78.1
vxlan_up b other 43 "$B4" "$A4" "$DEV_B" 192.168.78.2
for h in a b; do # (nor do they ask for the neighbour anew)
	mac=$(ip -n "$NS$([ $h = a ] && echo b || echo a)" -j link show vx | sed 's/.*"address":"\([^"]*\)".*/\1/')
	ip -n "$NS$h" neigh replace "$([ $h = a ] && echo $VX_B || echo $VX_A)" lladdr "$mac" dev vx
done
MAC_B=$(ip -n "${NS}b" -j link show vx | sed 's/.*"address":"\([^"]*\)".*/\1/')
POLICY="allow user * device $DEV_B,vx"
daemon_ends
daemon_starts "$POLICY"
map() { bpftool -j map dump pinned "/sys/fs/bpf/sluice/$DEV_B/$1" 2>/dev/null; }
follows() { map vxlans | python3 -c 'import json, sys
sys.exit([x["formatted"]["value"]["flags"] & 3 for x in json.load(sys.stdin)] != [int(sys.argv[1])])' "$1"; }
bound() { [ "$(map stations | python3 -c 'import json, sys; print(len(json.load(sys.stdin)))')" = "$1" ]; }
servers=() clients=() files=()
for s in "$VX_B 7000" "0.0.0.0 7001"; do
	read -r addr port <<<"$s"
	bg sb "$BIN/echo" "$addr" "$port"
	servers+=("$BG")
	ok "port $port is claimed" wait_until 10 has_claim "$port"
	bg a "$BIN/steady" -i 1000 $VX_B "$port" "$TMP/port-$port"
	clients+=("$BG")
	files+=("$TMP/port-$port")
	wait_until 10 grows "$TMP/port-$port" 50
done
ok "the device below opens their packets" wait_until 10 logged "vx: taken out of VXLAN on $DEV_B"
go_on "two processes"
same "the VNI has one number" 1 "$(map endpoints | python3 -c '
import json, sys
print(*{e["formatted"]["value"]["flags"] >> 26 for e in json.load(sys.stdin) if e["formatted"]["key"]["vlan"] >> 30 & 1})')"
number() { b ip -o link show "$1" | cut -d: -f1; }
bg a timeout 20 python3 -c '
import socket
s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x88b5))
s.bind(("vx", 0x88b5))
print("ready", flush=True)
print(s.recv(2000)[14:38].decode(), flush=True)' >"$TMP/frame"
sniffer=$BG
wait_line "$TMP/frame" ready
out=$(sb env -u LD_PRELOAD python3 "$TESTS/net/lease_vxlan.py" "$TMP/sluiced.b" $VX_B "$(number "$DEV_B")" "$(number vx)" "$(number other)" \
	"$MAC_B" 2>&1)
same "a hostile process gets nothing" 0 $?
printf '%s\n' "$out" | grep -v '^ok'
ok "all of it was tried" grep -q "^ok: the end" <<<"$out"
wait "$sniffer"
same "the frame that it may send leaves" "from the daemon's client" "$(tail -n 1 "$TMP/frame")"
go_on "after it"
# The daemon follows changes of the device without a request.
b bridge fdb replace "02:00:00:00:99:99" dev vx dst "$A4"
ok "the fdb is followed" wait_until 5 bound 1
for n in 1 0; do
	b sh -c "echo 0 >/proc/sys/net/ipv4/conf/all/rp_filter; echo $n >/proc/sys/net/ipv4/conf/$DEV_B/rp_filter"
	ok "rp_filter $n is followed" wait_until 5 follows $n
done
# The numbers are kept, and so is what the program knows.
kill -9 "$(daemon_pid)"
wait_until 10 not daemon_answers
b bridge fdb del "02:00:00:00:99:99" dev vx
daemon_starts "$POLICY"
ok "what changed without a daemon is followed" wait_until 5 bound 0
go_on "after the daemon was killed"
kill -9 "${servers[0]}"
wait "${servers[0]}" 2>/dev/null
ok "the killed process has no claim" wait_until 10 not has_claim 7000
stop "${clients[0]}" # (what is claimed by nobody the kernel opens, and counts)
files=("${files[@]:1}")
go_on "after a process was killed"
bg sb "$BIN/echo" $VX_B 7003
ok "another process takes its place" wait_until 10 has_claim 7003
# The policy, also for a program of the library.
bg sb "$BIN/echo" 192.168.78.2 7004
ok "the policy's refusal is told" wait_until 10 logged "other: not taken out of VXLAN below: sluiced: the policy does not give other"
ok "nothing is claimed there" not has_claim 7004
done_testing
