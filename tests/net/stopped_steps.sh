#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Programs are stopped (SIGSTOP), each at another one of its messages to the daemon and to the kernel: the daemon serves
# everybody else, also of their group, as soon as otherwise; and each program is offloaded when it is let go on.
. "$(dirname "$0")/lib_lease.sh"
need strace
lease_up
stuck() { b timeout 60 setpriv --reuid "$1" --regid "$1" --clear-groups "$BIN/sluiced_stuck" "$TMP/sluiced.b" "${@:2}"; }
look() { # SUBJECT[PORT] become the processes that strace watches
	local p words
	for p in $(ip netns pids "${NS}b"); do
		{ mapfile -d '' -t words <"/proc/$p/cmdline"; } 2>/dev/null
		[ "${words[0]}" != "$BIN/echo" ] || SUBJECT[${words[2]}]=$p
	done
}
all_are_there() { look && [ "${#SUBJECT[@]}" = ${#PORTS[@]} ]; }
is_stopped() { case $(sed 's/.*) //; s/ .*//' "/proc/$1/stat" 2>/dev/null) in T | t) ;; *) return 1 ;; esac; }
stopped() { # prints how many are
	local p n=0
	for p in "${SUBJECT[@]}"; do is_stopped "$p" && n=$((n + 1)); done
	echo $n
}
# (Each thread is stopped at its own message of that number.)
go_on() { kill -CONT "${SUBJECT[@]}" 2>/dev/null; }
all_have_claims() {
	local port
	go_on
	claims=$(bpftool map dump pinned "/sys/fs/bpf/sluice/$LOW_B/endpoints" 2>/dev/null)
	for port in "${PORTS[@]}"; do [[ $claims == *"\"local_port\": $port"* ]] || return 1; done
}
declare -A SUBJECT=()
PORTS=()
port=7100
for call in sendmsg recvmsg; do
	for i in ${STEPS:-1 2 3 5 8}; do
		port=$((port + 1))
		PORTS+=($port)
		bg sb strace -f -qq -o /dev/null -e trace=$call -e inject=$call:signal=STOP:when="$i" "$BIN/echo" "$B4" $port
	done
done
alive_watch
ok "all programs begin" wait_until 20 all_are_there
nap 1500
n=$(stopped)
ok "$n of ${#PORTS[@]} are stopped" test "$n" -ge $((${#PORTS[@]} * 3 / 4))
told=$(stuck 65534 honest "$DEV_B")
same "another program of the group has a lease and a claim ($told)" "(0)" "${told##* }"
told=$(stuck 65533 honest "$DEV_B")
n=${told#*took }
ok "another user is greeted ($told)" test "${n%% ms*}" -le 2000
alive_end "while they are stopped"
ok "each has its claim when it goes on" wait_until 20 all_have_claims || for port in "${PORTS[@]}"; do
	[[ $claims == *"\"local_port\": $port"* ]] || say "none: $port"
done
kill -9 "${SUBJECT[@]}"
ok "all leases end" wait_until 20 leases_are 0
done_testing
