#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# The vault is killed, and then the daemon, before another vault has everything: the next daemon says so and begins
# anew; running programs go on by the kernel, and new ones are offloaded. A vault that is stopped keeps no daemon away.
. "$(dirname "$0")/lib_lease.sh"
need python3 strace
lease_up
for at in 1 2 3 5; do
	bg sb "$BIN/echo" "$B4" 7000
	old=$BG
	wait_until 20 has_claim 7000 || fail "$at: it is not offloaded"
	bg a "$BIN/steady" -i 1000 "$B4" 7000 "$TMP/udp"
	steady=$BG
	wait_until 20 grows "$TMP/udp" 100 || fail "$at: no answers"
	D=$(daemon_pid) V=$(vault_pid)
	strace -qq -p "$D" -o "$TMP/trace" -e trace=sendmsg -e "inject=sendmsg:signal=KILL:when=$at" &
	PIDS+=("$!")
	# (An answer to the program is a sendmsg, too: the daemon may die before this script sees it traced.)
	traced() { grep -q "^TracerPid:.*[1-9]" "/proc/$D/status" || gone "$D"; }
	wait_until 10 traced || die "the daemon cannot be traced"
	kill -9 "$V"
	ok "$at: the daemon dies while it fills another vault" wait_until 20 gone "$D"
	n=$(answered "$TMP/udp")
	daemon_up b "allow user *"
	ok "$at: the next one answers" wait_until 10 daemon_answers
	ok "$at: the program goes on" wait_until 20 grows "$TMP/udp" $((n + 200))
	stop "$steady" "$old"
	bg sb "$BIN/member" "$B4" 7001
	late=$BG
	ok "$at: who comes then is offloaded" wait_until 20 has_claim 7001
	stop "$late"
	ok "$at: nobody has a lease" wait_until 20 leases_are 0
	same "$at: there is one vault" 1 "$(vault_pid | wc -w)"
done
# The vault may hang up on the next daemon, since it has not seen yet that the last one is dead.
kill -9 "$(daemon_pid)"
DAEMON_BY=(strace -D -qq -o "$TMP/hung" -e trace=sendmsg -e "inject=sendmsg:error=EPIPE:when=1")
daemon_up b "allow user *"
DAEMON_BY=()
ok "a vault that hangs up is asked again" wait_until 10 daemon_answers
ok "it did hang up" grep -q "EPIPE.*INJECTED" "$TMP/hung"
same "there is one vault after that" 1 "$(vault_pid | wc -w)"
# A vault that somebody has stopped goes on for the next daemon, and ends with one that ends in order.
bg sb "$BIN/member" "$B4" 7001
kept=$BG
wait_until 20 has_claim 7001 || fail "it is not offloaded"
V=$(vault_pid)
kill -STOP "$V"
kill -9 "$(daemon_pid)"
wait_until 10 not daemon_answers
daemon_up b "allow user *"
ok "the next daemon of a stopped vault answers" wait_until 4 daemon_answers
same "and has what that held" "1 $V" "$(leases) $(vault_pid)"
stop "$kept"
wait_until 20 leases_are 0 || fail "the lease does not end"
kill -STOP "$V"
daemon_ends
ok "a stopped vault ends with its daemon" wait_until 10 gone "$V"
daemon_up b "allow user *"
wait_until 10 daemon_answers || die "no daemon answers"
# Without a daemon it gives nothing to another user, even if that user may open its socket's file.
bg sb "$BIN/member" "$B4" 7001
kept=$BG
wait_until 20 has_claim 7001 || fail "it is not offloaded"
kill -9 "$(daemon_pid)"
wait_until 10 not daemon_answers
chmod 666 "$TMP/sluiced.b.vault"
b setpriv --reuid=65534 --regid=65534 --clear-groups python3 "$TESTS/net/vault.py" "$TMP/sluiced.b.vault" 0 2>"$TMP/stranger"
ok "it hangs up on another user" grep -q "it hung up\|BrokenPipeError\|ConnectionResetError" "$TMP/stranger"
daemon_up b "allow user *"
wait_until 10 daemon_answers || die "no daemon goes on"
ok "and the next daemon has it all" leases_are 1
stop "$kept"
ok "nobody has a lease then" wait_until 20 leases_are 0
# A new vault that takes no more while the daemon fills it lacks records: it ends, and does not stay beside the next one.
kill "$(daemon_pid)"
wait_until 10 eval '[ -z "$(daemon_pid)$(vault_pid)" ]' || die "daemon and vault do not end"
DAEMON_BY=(strace -D -qq -o "$TMP/full" -e trace=sendmsg -e "inject=sendmsg:error=EPIPE:when=2")
daemon_up b "allow user *"
DAEMON_BY=()
ok "a daemon whose new vault takes nothing starts" wait_until 10 daemon_answers
ok "it took nothing" grep -q "EPIPE.*INJECTED" "$TMP/full"
ok "and has ended" wait_until 2 eval '[ "$(vault_pid | wc -w)" = 1 ]'
kill "$(daemon_pid)"
ok "the last one ends as ever" wait_until 10 eval '[ -z "$(daemon_pid)$(vault_pid)" ]'
same "nothing is left" "" "$(ls -d "$TMP"/sluiced.b{,.vault} /sys/fs/bpf/sluice/"$DEV_B" 2>/dev/null)"
done_testing
