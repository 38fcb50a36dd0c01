#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Two groups of processes on one device, each with queues of its own, where the policy says so and the NIC can be told
# which packets go to which queue (here a simulated NIC: steering_nic.c). A device that cannot be divided, or takes no
# more rules, goes to one group; the other stays with the kernel.
. "$(dirname "$0")/lib_lease.sh"
need python3 ethtool
lease_up -q 4
ONE=65534 TWO=65533 THREE=65532 PORT=7000
STATE=$TMP/nic.state
starts() { # policy
	: >"$TMP/sluice.db.log"
	daemon_starts "$1"
}
run() { # user: an echo server; its number is BG, its port PORT
	PORT=$((PORT + 1))
	rm -f "$TMP"/sluice.[0-9]*.log
	LEASED_UID=$1
	bg sb "$BIN/echo" "${2:-$B4}" "$PORT"
	unset LEASED_UID
	wait_udp b "$PORT"
}
nic() { "$BIN/steering_nic" "$STATE"; }
nic_says() { nic | grep -qx "$1"; }
rules() { nic | sed -n 's/^rules //p'; }
no_rules() { [ "$(rules)" = 0 ]; }
answers() { # address, port
	bg a "$BIN/steady" -i 1000 -n 200 "$1" "$2" "$TMP/steady"
	wait_end "$BG" 30 && [ "$(answered "$TMP/steady")" -ge 199 ]
}
parts() { daemon ports | awk -v d="$DEV_B" '$1 == d { print $8, $3 }' | sort | xargs; }
has_parts() { [ "$(parts)" = "$1" ]; } # (the daemon ends a session a moment after its process)
told() { wait_until 10 grep -q -e "$1" "$TMP"/sluice.[0-9]*.log; }
daemon_logs() { wait_until 10 grep -q -e "$1" "$TMP/sluice.db.log"; }
nobody() { wait_until 20 leases_are 0 || fail "leases are left"; }
released() { wait_until 20 grep -q "$DEV_B: released" "$TMP/sluice.db.log"; }
tcp_in() { b awk '/^Tcp:/ && $2 ~ /[0-9]/ { print $11 }' /proc/net/snmp; } # InSegs
by_us() { same "$1: none of it by the kernel" 0 $(($(udp_stat b InDatagrams) - K_IN)); }
# The program: a server, or a client that connects N times, for the other host's kernel or for the group.
cat >"$TMP/tcp.py" <<'PY'
import socket, sys, threading
what, addr, port, n = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
family = socket.AF_INET6 if ":" in addr else socket.AF_INET
def serve(s):
    with s:
        while data := s.recv(65536):
            s.sendall(data)
if what == "serve":
    l = socket.create_server((addr, port), family=family, backlog=64)
    while True:
        threading.Thread(target=serve, args=(l.accept()[0],), daemon=True).start()
socks = [socket.create_connection((addr, port), 10) for _ in range(n)]
for turn in range(20):
    for i, s in enumerate(socks):
        s.sendall(b"%05d" % (turn * 1000 + i) * 200)
    for i, s in enumerate(socks):
        want, got = b"%05d" % (turn * 1000 + i) * 200, b""
        s.settimeout(10)
        while len(got) < len(want):
            got += s.recv(len(want) - len(got))
        if got != want:
            sys.exit("wrong")
PY

doctor() { b "$@" "$BUILD/sluice" doctor "$DEV_B" 2>&1; }
ok "the doctor does not promise it" not file_has <(doctor) "can divide"
# A device that takes no rules is not divided.
daemon_ends
starts "$(printf 'allow user *\ndivide %s 2' "$DEV_B")"
run "$ONE"
one=$BG
ok "what takes no rules is not divided, which is said" daemon_logs "$DEV_B is not divided, so one group at a time.*takes no rules"
ok "one group has it" wait_until 10 has_claim "$PORT"
run "$TWO"
ok "the other is the kernel's" told "stays with the kernel"
stop "$one" "$BG"
nobody
daemon_ends
# Nor is a NIC that takes no rules of this kind.
on_steering_nic
ok "of such a NIC it says that it can be divided" file_has <(doctor "${DAEMON_BY[@]}") "rules for flows: sluiced can divide it"
export NIC_REFUSES=tcp
starts "$(printf 'allow user *\ndivide v*,%s 2' "$DEV_B")"
run "$ONE"
ok "nor is one that takes rules, but not for TCP" daemon_logs "$DEV_B is not divided.*takes no rules for TCP"
ok "it is left as it was" nic_says "ntuple off"
ok "with all its queues" nic_says "spread over 4"
stop "$BG"
nobody
daemon_ends
unset NIC_REFUSES

starts "$(printf 'allow user *\ndivide %s 2' "$DEV_B")"
run "$ONE"
one=$BG one_port=$PORT
ok "one group is offloaded" wait_until 10 has_claim "$PORT"
ok "it has half of the queues" test "$(parts)" = "uid:$ONE 2"
ok "the kernel's packets come by them, too" nic_says "spread over 2"
ok "which need no rules" no_rules
run "$TWO"
two=$BG two_port=$PORT
ok "another group is offloaded beside it" wait_until 10 has_claim "$PORT"
same "both have their queues" "uid:$TWO 2 uid:$ONE 2" "$(parts)"
same "the NIC has a rule" 1 "$(rules)"
ok "which sends it to the second's queues" file_has <(nic) "udp $PORT 0 [23]\$"
run "$TWO" "$B6"
six=$BG six_port=$PORT
ok "so with IPv6" wait_until 10 has_claim "$PORT"
run "$TWO" 0.0.0.0
any=$BG any_port=$PORT
ok "and of any address" wait_until 10 has_claim "$PORT"
offload_begin
ok "the first answers" answers "$B4" "$one_port"
ok "the second answers" answers "$B4" "$two_port"
ok "by IPv6" answers "$B6" "$six_port"
ok "and at any address" answers "$B4" "$any_port"
by_us "both groups"
run "$THREE"
three=$BG
ok "a third group stays with the kernel" told "group uid:$ONE, uid:$TWO has the queues of $DEV_B"
ok "which serves it" answers "$B4" "$PORT"
stop "$three" "$six" "$any"
ok "who has gone has no rule" wait_until 10 nic_says "rules 1"

# TCP: a listener, and connections that the group opens.
LEASED_UID=$TWO
bg sb /usr/bin/python3 "$TMP/tcp.py" serve "$B4" 8001 0
srv=$BG
bg a /usr/bin/python3 "$TMP/tcp.py" serve "$A4" 8002 0
srv_a=$BG
bound b 20 tcp 8001
wait_until 10 has_claim 8001
wait_until 10 listening a 8002
ok "the NIC knows the listener" file_has <(nic) "tcp 8001 0 [23]\$"
before=$(rules)
in0=$(tcp_in)
ok "it serves" a timeout 60 /usr/bin/python3 "$TMP/tcp.py" talk "$B4" 8001 16
same "what it accepts needs no rules of its own" "$before" "$(rules)"
ok "it connects" sb timeout 60 /usr/bin/python3 "$TMP/tcp.py" talk "$A4" 8002 8
unset LEASED_UID
ok "none of it by the kernel" test $(($(tcp_in) - in0)) -le 8
ok "the connections' rules go with them" wait_until 10 nic_says "rules $before"

# The rules outlive the daemon.
d=$(daemon_pid)
kill -9 "$d"
wait_until 10 gone "$d"
starts "$(printf 'allow user *\ndivide %s 2' "$DEV_B")"
same "the next daemon knows both groups" "uid:$TWO 2 uid:$ONE 2" "$(parts)"
same "and the NIC's rules" "$before" "$(rules)"
offload_begin
ok "the first answers" answers "$B4" "$one_port"
ok "and the second" answers "$B4" "$two_port"
by_us "after a restart"
run "$TWO"
new=$BG
ok "and one that comes new" wait_until 10 has_claim "$PORT"
offload_begin
ok "it answers" answers "$B4" "$PORT"
by_us "a new one after a restart"
kill -9 "$new" "$srv"
wait "$new" "$srv" 2>/dev/null
ok "the killed leave no rules" wait_until 20 nic_says "rules 1"
# When a group has gone, another group gets its queues.
stop "$two" "$srv_a"
ok "with the group its rules go" wait_until 20 no_rules
ok "the first is as it was" wait_until 10 has_parts "uid:$ONE 2"
run "$THREE"
three=$BG
ok "and a third may come" wait_until 10 has_claim "$PORT"
offload_begin
ok "it answers" answers "$B4" "$PORT"
ok "as does the first" answers "$B4" "$one_port"
by_us "the third"
stop "$one"
wait_until 10 has_parts "uid:$THREE 2"
run "$TWO"
two=$BG
ok "so with the first's queues" wait_until 10 has_claim "$PORT"
offload_begin
ok "they answer" answers "$B4" "$PORT"
by_us "in the first's place"
stop "$three" "$two"
nobody
ok "the last one leaves the device" released
ok "which is as it was" nic_says "spread over 4"
ok "its rules switched off" nic_says "ntuple off"
daemon_ends

# The daemon, its vault and the programs are all killed at once.
starts "$(printf 'allow user *\ndivide %s 2' "$DEV_B")"
run "$ONE"
one=$BG
run "$TWO"
two=$BG
ok "the NIC is divided" wait_until 10 nic_says "rules 1"
kill -9 "$(daemon_pid)" "$(vault_pid)" "$one" "$two"
wait "$one" "$two" 2>/dev/null
ok "whoever is killed, the NIC is as it was" wait_until 20 nic_says "spread over 4"
ok "without rules" no_rules
ok "switched off" wait_until 10 nic_says "ntuple off"

# A NIC that holds few rules, and places them itself.
export NIC_PLACES=2 NIC_CHOOSES=1
starts "$(printf 'allow user *\ndivide %s 2' "$DEV_B")"
run "$ONE"
one=$BG
run "$TWO"
ok "a rule" wait_until 10 has_claim "$PORT"
two=$BG two_port=$PORT
run "$TWO"
ok "another" wait_until 10 has_claim "$PORT"
three=$BG
run "$TWO"
four=$BG
ok "the third finds no room, which is said" daemon_logs "process $four .*refused: $DEV_B takes no more rules for flows"
ok "the kernel serves it" answers "$B4" "$PORT"
offload_begin
ok "the others are as before" answers "$B4" "$two_port"
by_us "beside it"
stop "$one" "$two" "$three" "$four"
nobody
done_testing
