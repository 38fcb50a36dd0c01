#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# A program that is killed, or stopped and killed later, at any system call of any of its requests to the daemon: the daemon
# and another program go on, and nothing of it is left in the daemon (SEED repeats a run; ROUNDS).
. "$(dirname "$0")/lib_lease.sh"
need python3 strace
unsanitized "strace and the sanitizers do not go together"
lease_up
ROUNDS=${ROUNDS:-$([ -n "${SHORT:-}" ] && echo 12 || echo 200)}
RANDOM=${SEED:=$((RANDOM % 10000))}
say "SEED=$SEED"
D=$(daemon_pid)
bg a python3 "$TESTS/net/cut_short_echo.py" 7100 >"$TMP/echo"
wait_tcp a 7100
chmod 777 "$TMP"
: >"$TMP/trace"
chmod 666 "$TMP/trace"
subject() { # options of strace...
	sb timeout -s KILL 30 strace -f -qq -o "$TMP/trace" "$@" python3 "$TESTS/net/cut_short.py" "$A4" 7100
}
# Where the program asks: which call of a thread's own calls each one is, since strace counts these.
asks() {
	awk '{ name = $2; sub(/\(.*/, "", name); split($2, at, /[(,]/); n[$1 name]++ }
		name == "sendmsg" && /iov_base="SLSL/ { fd[at[2]] = 1 }
		(name == "sendmsg" || name == "recvmsg") && at[2] in fd { print name, n[$1 name] }' "$TMP/trace" | sort -u
}
same "it gets to its end when it is let" whole "$(subject -e trace=sendmsg,recvmsg 2>&1)"
mapfile -t asks < <(asks)
ok "${#asks[@]} places of requests and answers" test ${#asks[@]} -ge 30
others=("close 40" "mmap 60" "ppoll 3" "getsockopt 20" "setsockopt 20" "sendto 40" "futex 6" "munmap 10" "dup3 2")
wait_until 20 leases_are 0 || die "a lease does not end"
left() { # what the daemon has
	echo "$(ls "/proc/$D/fd" | wc -l) descriptors, $(cat /proc/$D/fdinfo/* 2>/dev/null | grep -c '^map_id') maps," \
		"$(wc -l <"/proc/$D/maps") mappings, $(find /sys/fs/bpf/sluice -path "*$LOW_B*" | wc -l) pins"
}
# An honest program, and its peer, which asks each 5 ms.
bg sb "$BIN/echo" "$B4" 7000
wait_udp b 7000
wait_until 10 has_claim 7000 || die "nothing is offloaded"
bg a "$BIN/steady" -i 5000 "$B4" 7000 "$TMP/steady"
wait_until 20 grows "$TMP/steady" 10
alive_watch
subject -e trace=none >"$TMP/out" 2>&1 # (the daemon keeps some descriptors that it opens for HOLDERS)
wait_until 20 leases_are 1
before=$(left)
for ((i = 0; i < ROUNDS; i++)); do
	read -r call when <<<"${asks[RANDOM % ${#asks[@]}]}"
	if ((i % 3 == 2)); then # in the midst of the work before and after
		read -r call when <<<"${others[RANDOM % ${#others[@]}]}"
		when=$((1 + RANDOM % when))
	fi
	if ((i % 4 == 1)); then
		( subject -e "trace=$call" -e "inject=$call:signal=STOP:when=$when" >"$TMP/out" 2>&1 ) &
		nap 1200
		for p in $(ip netns pids "${NS}b"); do
			grep -qs cut_short.py "/proc/$p/cmdline" && kill -9 "$p"
		done
		wait $!
	else
		subject -e "trace=$call" -e "inject=$call:signal=KILL:when=$when" >"$TMP/out" 2>&1
	fi
	grep -q whole "$TMP/out" && whole=$((${whole:-0} + 1))
	for p in $(ip netns pids "${NS}b"); do # (children of those)
		grep -qs cut_short.py "/proc/$p/cmdline" && kill -9 "$p"
	done
done
say "$ROUNDS rounds, ${whole:-0} were not cut short"
ok "all leases but one end" wait_until 20 leases_are 1
alive_end "programs that are cut short"
same "the daemon is the same" "$D" "$(daemon_pid)"
settled() { [ "$(left)" = "$before" ]; }
wait_until 20 settled
same "nothing is left in it" "$before" "$(left)"
go=$(cut -d' ' -f1-5 "$TMP/steady")
say "asked, answered, doubled, wrong, failed: $go; longest gap $(cut -d' ' -f6 "$TMP/steady")"
ok "the other program is answered on and on" wait_until 10 grows "$TMP/steady" 50
done_testing
