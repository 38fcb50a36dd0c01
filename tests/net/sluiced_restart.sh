#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# sluiced is killed and started again, and again, under traffic of both protocols and directions: not a byte is lost
# or wrong, nothing goes through the kernel meanwhile, and in the end nothing is left. Then the vault is killed, daemon
# and vault together, and programs while there is no daemon; and a daemon that does not understand the records says so.
#
# KILLS=600 (make soak): ten minutes of a kill each second.
. "$(dirname "$0")/lib_lease.sh"
need python3
lease_up
[ -z "${SHORT:-}" ] || KILLS=${KILLS:-2}
KILLS=${KILLS:-4} EVERY=${EVERY:-1}
field_of() { # file, number: sets FIELD
	local words=()
	{ read -ra words <"$1"; } 2>/dev/null
	FIELD=${words[$2 - 1]:-0}
}
field() { field_of "$@" && echo "$FIELD"; }
grows() { field_of "$1" "$2" && [ "$FIELD" -ge "$3" ]; }
kill_daemon() { # signal
	local d
	d=$(daemon_pid)
	kill "-$1" "$d"
	wait_until 10 gone "$d" || fail "the daemon does not end"
}
again() { daemon_up b "allow user *" && wait_until 10 daemon_answers || fail "the daemon does not come back"; }
peer="python3 $TESTS/net/sluiced_restart.py"
all_go_on() { # what: asserts that each of the streams carries more bytes
	local f before=()
	for f in "${files[@]}"; do before+=("$(field "$f" 2)"); done
	for f in "${files[@]}"; do
		wait_until 20 grows "$f" 2 $((${before[0]} + 100)) || fail "$1: $(basename "$f") stands still"
		before=("${before[@]:1}")
	done
	pass "$1: all go on"
}

# Traffic: UDP to b, TCP streams to b and from it, connections that come and go, both families.
bg sb "$BIN/echo" "$B4" 7000
udp=$BG
bg sb $peer serve "$B4" 7001
bg sb $peer serve "$B6" 7001
bg a $peer serve "$A4" 7002
wait_udp b 7000
bound b 30 tcp 7001 2 || die "nobody listens on b"
wait_tcp a 7002
ok "b is offloaded" wait_until 20 has_claim 7001
bg a "$BIN/steady" -i 1000 "$B4" 7000 "$TMP/udp"
steady=$BG
streams=()
for s in "a $B4 7001 in4" "a $B6 7001 in6" "sb $A4 7002 out4"; do
	read -r who addr port name <<<"$s"
	bg "$who" $peer stream "$addr" "$port" "$TMP/$name"
	streams+=("$BG")
done
files=("$TMP/udp" "$TMP/in4" "$TMP/in6" "$TMP/out4")
for s in "a $B4 7001 new-in churn" "sb $A4 7002 new-out churn" "sb $A4 7002 new-forks forks"; do
	read -r who addr port name mode <<<"$s"
	bg "$who" $peer "$mode" "$addr" "$port" "$TMP/$name"
	streams+=("$BG")
done
all_go_on "at first"
wait_until 20 grows "$TMP/new-in" 1 5 && wait_until 20 grows "$TMP/new-out" 1 5 || fail "no new connections"
offload_begin
prog=$(bpftool net show dev "$LOW_B" 2>/dev/null | grep -o 'id [0-9]*' | head -n 1)
fds=$(ls "/proc/$(daemon_pid)/fd" | wc -l)
vault_fds=$(ls "/proc/$(vault_pid)/fd" | wc -l)
V=$(vault_pid)

for k in $(seq "$KILLS"); do
	kill_daemon 9
	again
	sleep "$EVERY"
done
all_go_on "after $KILLS kills"
same "by the same vault" "$V" "$(vault_pid)"
same "none of the datagrams came by the kernel" 0 $(($(udp_stat b InDatagrams) - K_IN))
n=$(field "$TMP/new-out" 1)
ok "connections are made" wait_until 20 grows "$TMP/new-out" 1 $((n + 5))
n=$(field "$TMP/new-forks" 1)
ok "children have connections" wait_until 20 grows "$TMP/new-forks" 1 $((n + 2))

# A daemon that is told to step down leaves everything to the next one, too.
kill_daemon USR2
again
all_go_on "after SIGUSR2"

# The vault alone is killed: the daemon starts another.
kill -9 "$V"
ok "there is another vault" wait_until 10 eval '[ -n "$(vault_pid)" ] && [ "$(vault_pid)" != "$V" ]'
wait_until 10 eval '[ "$(ls "/proc/$(vault_pid)/fd" | wc -l)" -ge "$vault_fds" ]' || fail "it does not get everything"
kill_daemon 9
again
all_go_on "after the vault's death and the daemon's"

# A program that dies while there is no daemon is seen by the next one.
bg sb "$BIN/echo" "$B4" 7100
victim=$BG
wait_until 20 has_claim 7100 || fail "the victim is not offloaded"
kill_daemon 9
kill -9 "$victim"
wait "$victim" 2>/dev/null
again
ok "who died meanwhile has no claim" wait_until 20 not has_claim 7100
all_go_on "after a death meanwhile"

# A program that starts while the daemon is away waits for it.
kill_daemon 9
bg sb "$BIN/echo" "$B4" 7101
late=$BG
again
ok "who came meanwhile is offloaded" wait_until 20 has_claim 7101
stop "$late"

for p in "${streams[@]}"; do kill "$p"; done
for p in "${streams[@]}"; do
	wait_end "$p" 60
	same "every byte was right" 0 $?
done
stop "$steady"
read -r sent got doubled wrong failed gap <"$TMP/udp"
ok "no datagram was lost (sent $sent, answered $got)" test $((sent - got)) -le 1
same "none doubled, wrong or failed" "0 0 0" "$doubled $wrong $failed"
say "longest gaps: UDP $gap ms$(for f in in4 in6 out4; do printf ', %s %s ms' "$f" "$(field "$TMP/$f" 3)"; done)"
say "new connections: to b $(cat "$TMP/new-in"), from b $(cat "$TMP/new-out") (done, failed, longest ms)"

# Nothing is left over.
kill "$udp"
for p in $(pid_of "sluiced_restart.py serve $B4") $(pid_of "sluiced_restart.py serve $B6"); do kill "$p"; done
ok "no lease is left" wait_until 20 leases_are 0
ok "no descriptor of the daemon's" wait_until 10 eval '[ "$(ls /proc/$(daemon_pid)/fd | wc -l)" -le "$fds" ]'
ok "none of the vault's" wait_until 10 eval '[ "$(ls /proc/$(vault_pid)/fd | wc -l)" -lt "$vault_fds" ]'

# A daemon of another version says so, and touches nothing.
bg sb "$BIN/echo" "$B4" 7000
old=$BG
wait_until 20 has_claim 7000 || fail "a new program is not offloaded"
bg a "$BIN/steady" -i 1000 "$B4" 7000 "$TMP/udp2"
steady=$BG
wait_until 20 grows "$TMP/udp2" 2 100 || fail "no answers"
same "nobody else may speak to the vault" 1 "$(b setpriv --reuid=65534 --clear-groups python3 "$TESTS/net/vault.py" "$TMP/sluiced.b.vault" 0 2>/dev/null || echo 1)"
kill_daemon 9
ok "the records are made another version's" b python3 "$TESTS/net/vault.py" "$TMP/sluiced.b.vault" 1
b "$BUILD/sluiced" --socket "$TMP/sluiced.b" --policy "$TMP/sluiced.b.conf" 2>"$TMP/other"
same "a daemon of another version does not start" 78 $?
ok "it says why, and the remedy" grep -q "another version.*They go on. Remedy:.*kill $(vault_pid)," "$TMP/other"
n=$(field "$TMP/udp2" 2)
ok "the programs go on" wait_until 20 grows "$TMP/udp2" 2 $((n + 200))
ok "the records are made ours again" b python3 "$TESTS/net/vault.py" "$TMP/sluiced.b.vault" -1
again
n=$(field "$TMP/udp2" 2)
ok "the right one goes on" wait_until 20 grows "$TMP/udp2" 2 $((n + 200))

# Daemon and vault are killed together: the offload ends, and the kernel goes on with what it can.
# (The daemon is stopped first: if it saw its vault die it would start another, which might have everything in time.)
D=$(daemon_pid)
kill -STOP "$D"
kill -9 "$(vault_pid)" "$D"
ok "daemon and vault killed, the device is released" wait_until 20 not test -e "/sys/fs/bpf/sluice/$LOW_B"
n=$(field "$TMP/udp2" 2)
ok "the programs go on by the kernel" wait_until 20 grows "$TMP/udp2" 2 $((n + 200))
daemon_up b "allow user *"
wait_until 10 daemon_answers
# The queue is free when the programs that had it have ended.
stop "$steady" "$old"
bg sb "$BIN/member" "$B4" 7102
late=$BG
ok "who comes then is offloaded by the next daemon" wait_until 20 has_claim 7102
stop "$late"
ok "nobody has a lease" wait_until 20 leases_are 0
kill "$(daemon_pid)"
ok "the next daemon ends as ever" wait_until 10 eval '[ -z "$(daemon_pid)$(vault_pid)" ]'
same "nothing is left" "" "$(ls -d "$TMP"/sluiced.b{,.vault} 2>/dev/null)"
done_testing
