#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Users with and without a lease pass the daemon what it cannot close (SO_LINGER, queues in queues, FUSE), keep
# connections without a word, use up its descriptors: it answers all the time, and serves the others.
. "$(dirname "$0")/lib_lease.sh"
lease_up
D=$(daemon_pid)
V=$(vault_pid)
as() { echo "setpriv --reuid $1 --regid $1 --clear-groups"; }
stuck() { b timeout 60 $(as "$1") "$BIN/sluiced_stuck" "$TMP/sluiced.b" "${@:2}"; }
bg_stuck() { bg b timeout 60 $(as "$1") "$BIN/sluiced_stuck" "$TMP/sluiced.b" "${@:2}"; }
fds_of() { ls "/proc/$1/fd" | wc -l; }
fds_at_most() { [ "$(fds_of "$1")" -le "$2" ]; }
fds_at_least() { [ "$(fds_of "$1")" -ge "$2" ]; }
ticks() { awk '{ print $14 + $15 }' "/proc/$D/stat"; }
printf 'deny user 1000\nallow user *\n' >"$TMP/sluiced.b.conf"
kill -HUP "$D"

# (The daemon keeps the descriptors that it opens when the first lease ends: end one before counting.)
bg sb "$BIN/echo" "$B4" 7001
wait_udp b 7001
wait_until 10 has_claim 7001 || die "nothing is offloaded"
stop "$BG"
wait_until 10 leases_are 0 || die "a lease does not end"

# An honest program, served all the time.
bg sb "$BIN/echo" "$B4" 7000
wait_udp b 7000
ok "it has a claim" wait_until 10 has_claim 7000
sleep 0.5
fds=$(($(fds_of "$D") + 4)) vfds=$(($(fds_of "$V") + 4)) # (the daemon opens some for HOLDERS, and keeps them)

others_are_served() { # while the programs of ends are under way; waits for these
	sleep 2
	bg sb "$BIN/echo" "$B4" 7001
	wait_udp b 7001
	ok "another program gets a lease meanwhile" wait_until 20 has_claim 7001
	stop "$BG"
	for p in "${ends[@]}"; do wait_end "$p" 40; done
}

# Clients that pass the daemon descriptors that cannot be closed soon.
alive_watch
ends=()
for what in linger queued nested epoll box; do
	for user in 65533 1000; do
		bg_stuck $user $what >"$TMP/stuck.$user.$what" 2>&1
		ends+=("$BG")
	done
done
others_are_served
alive_end "sockets that linger"
ok "a lease was had, and the rest refused" grep -q "^HELLO: 0" "$TMP/stuck.65533.linger"
ok "a user without one is told" grep -q "^HELLO: -13" "$TMP/stuck.1000.linger"
ok "all of it is closed" wait_until 20 fds_at_most "$D" "$fds"
ok "by the vault, too" wait_until 20 fds_at_most "$V" "$vfds"

# A file system (FUSE) that never answers, of either user.
alive_watch
ends=()
for user in 65533 1000; do
	bg_stuck $user fuse >"$TMP/fuse.$user" 2>&1
	ends+=("$BG")
done
others_are_served
say "with a file system of its own: $(sort "$TMP"/fuse.* | uniq -c | tr -s '\n ' '; ')"
alive_end "files of FUSE"
ok "all of it is closed" wait_until 20 fds_at_most "$D" "$fds"

# Sockets whose lock another thread of that user holds for as long as it likes, in every request that takes one; the next
# daemon goes on though a thread of this one waits for such a lock, which nothing ends.
alive_watch
stuck 65534 locked "$DEV_B" >"$TMP/locked" 2>&1
rc=$?
if [ $rc = 77 ]; then
	say "not tried: $(tail -n 1 "$TMP/locked")"
else
	same "sockets whose lock is held: refused" "0 request 24: -16" "$rc $(grep "request 24" "$TMP/locked")"
	ok "but for claims, where the kernel shows names without it ($(grep CLAIM "$TMP/locked"))" \
		grep -qx "CLAIM: 0\|CLAIM: -16" "$TMP/locked"
fi
alive_end "locks of sockets"
ok "it waits for none of them any more" wait_until 10 fds_at_most "$D" "$fds"
bg_stuck 65533 locked "$DEV_B" >"$TMP/locked" 2>&1
holder=$BG
wait_until 20 grep -q "^asked\|^no " "$TMP/locked"
kill -9 "$D"
daemon_up b "allow user *"
ok "a new daemon goes on beside a thread that waits" wait_until 10 daemon_answers
ok "and has the honest program's lease" wait_until 10 leases_are 1
wait_end "$holder" 20
printf 'deny user 1000\nallow user *\n' >"$TMP/sluiced.b.conf"
D=$(daemon_pid) V=$(vault_pid)
kill -HUP "$D"
fds=$(($(fds_of "$D") + 6))

# Connections without a word, or with one too late; a packet without a byte.
alive_watch
bg_stuck 65533 idle 40 >"$TMP/idle" 2>&1
one=$BG
bg_stuck 1000 idle 40 >"$TMP/idle2" 2>&1
two=$BG
bg_stuck 65532 slow >"$TMP/slow" 2>&1
three=$BG
for p in $one $two $three; do
	wait "$p"
	same "connections without a lease are few, and end soon ($(cat "$TMP/idle" "$TMP/idle2" "$TMP/slow" | tr '\n' ';'))" 0 $?
done
ok "a packet without a byte ends its connection" stuck 65533 empty
told=$(b timeout 30 "$BIN/sluiced_stuck" "$TMP/sluiced.b" reuse "$D")
rc=$?
[ $rc = 77 ] || same "a process with the number of a dead owner has no lease of it ($told)" 0 $rc
alive_end "silence"

# A user has as many leases as it may have (SHORT: 150), with 65,536 connections each, and all end at once: a program of
# another user has a lease and a claim as soon as otherwise.
N=${SHORT:+150} N=${N:-250}
rss() { awk '/VmRSS/ { print $2 }' "/proc/$D/status"; }
before=$(rss)
bg_stuck 65533 dying $N >"$TMP/dying"
wait_line "$TMP/dying" ready
told=$(stuck 65534 honest "$DEV_B")
n=${told#*took }
ok "HELLO within 8 ms for each lease that ends ($told)" test "${n%% ms*}" -le $((N * 8))
n=${told#*all }
ok "and a first socket" test "${n%% ms*}" -le 2000 -a "${told##* }" = "(0)"
ok "all of it is closed" wait_until 30 fds_at_most "$D" "$fds"
case $BUILD in *san*) ;; *) ok "and its memory is the system's ($before KB before, $(rss) after)" test "$(rss)" -le $((before + 4096)) ;; esac

# Silent connections of 34 users, as a user with subordinate ones has: all that there may be without a lease.
bg b python3 -c 'import os, socket, sys, time
held = []
for uid in range(3000, 3034):
    os.seteuid(uid)
    for _ in range(16):
        held.append(socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET))
        held[-1].connect(sys.argv[1])
    os.seteuid(0)
print("ready", flush=True)
time.sleep(2)' "$TMP/sluiced.b" >"$TMP/silent"
wait_line "$TMP/silent" ready
told=$(stuck 65534 honest "$DEV_B")
same "another user gets a lease beside 544 silent connections" "(0)" "${told##* }"
stop "$BG"

ok "the daemon is the same" kill -0 "$D"
ok "and the honest program has its claim" has_claim 7000

ok "the silent ones are closed" wait_until 20 fds_at_most "$D" "$fds"

# Another daemon takes over: next_daemon DESCRIPTORS OPTIONS.
next_daemon() {
	kill -USR2 "$D"
	wait_until 10 gone "$D" || fail "the daemon does not step down"
	# (A limit of its own may always be lower; another process' may not be changed in every container.)
	bg b bash -c 'ulimit -n "$0" && exec "$@"' "$1" "$BUILD/sluiced" --socket "$TMP/sluiced.b" \
		--policy "$TMP/sluiced.b.conf" "${@:2}" 2>>"$TMP/watchdog.log"
	wait_until 10 daemon_answers || die "no daemon goes on"
	D=$(daemon_pid)
}

# Without free descriptors the daemon does not spin.
wait_until 10 fds_at_most "$D" 200 || fail "the silent connections' descriptors stay open"
limit=$(($(fds_of "$D") + 16))
next_daemon $limit
ends=()
for user in 65533 65532; do # (each may have 16 connections)
	bg_stuck $user idle 16 >"$TMP/idle.$user" 2>&1
	ends+=("$BG")
done
most=0
for _ in {1..10}; do
	n=$(ls "/proc/$D/fd" | awk -v limit=$limit '$1 < limit' | wc -l) # (it may have some beyond the limit)
	most=$((n > most ? n : most))
	sleep 0.1
done
ok "users get many descriptors, but not the last ones, which are root's ($most of $limit are in use)" \
	test $most -gt $((limit / 2)) -a $most -le $((limit - limit / 16))
for p in "${ends[@]}"; do wait_end "$p" 20; done
bg_stuck 0 idle 60 >"$TMP/idle3" 2>&1
full=$BG
ok "no descriptor of $limit is free" wait_until 5 fds_at_least "$D" $limit
before=$(ticks)
sleep 1
n=$(($(ticks) - before))
ok "without descriptors it rests ($n ticks of 100)" test $n -lt 30
ok "all that time" fds_at_least "$D" $limit
stop "$full"
ok "and serves again" wait_until 10 daemon_answers

# A loop that stands still: the daemon ends, and the next one goes on.
need_end() { ! kill -0 "$1" 2>/dev/null || [ "$(awk '/^State/ { print $2 }' "/proc/$1/status" 2>/dev/null)" = Z ]; }
next_daemon "$(ulimit -n)" --watchdog 3
bg b "$BIN/stop_loop" "$D" >"$TMP/stopped"
(sleep 1 && timeout 3 env SLUICE_DAEMON="$TMP/sluiced.b" "$BUILD/sluice" daemon status) >/dev/null 2>&1
ok "its loop is stopped" grep -q stopped "$TMP/stopped"
ok "the daemon ends by itself" wait_until 20 need_end "$D"
ok "and says so" grep -q "stands still" "$TMP/watchdog.log"
daemon_up b "allow user *"
ok "the next one goes on" wait_until 10 daemon_answers
ok "with what there was" leases_are 1
done_testing
