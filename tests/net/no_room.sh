#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# File systems that are full or not there (/run, /dev/shm, /tmp, bpffs), and too little of what
# a process may have (setrlimit(2)), for a program and for the daemon: it is served all the same, by the kernel where need be, the log says
# what is missing, and nothing dies.
. "$(dirname "$0")/lib.sh"
unsanitized "a sanitizer reserves terabytes of addresses"
need unshare mount
net_up
need_built
MODE=one
chmod 777 "$TMP"
full() { echo "mount -t tmpfs -o size=4k,mode=1777 none $1 && head -c 4096 /dev/zero >$1/full;"; }
# Runs a server on host b in mounts of its own, after COMMANDS; a client's 200 questions are answered.
served() { # WHAT COMMANDS LOG-PATTERN [command that runs the server...]
	local what=$1 before=$2 said=$3 env
	shift 3
	rm -f "$TMP"/sluice.*.log "$TMP/answers"
	mapfile -t env < <(preload_env b)
	bg b unshare -m sh -c "$before"' exec "$@"' sh "$@" env "${env[@]}" "SLUICE_LOG_FILE=$TMP/sluice.%d.log" "${SL_ENV[@]}" \
		"$BIN/echo" "$B4" 7000
	wait_udp b 7000
	a timeout 30 "$BIN/steady" -n 200 "$B4" 7000 "$TMP/answers"
	same "$what: all are answered" "200 200 0 0 0" "$(cut -d' ' -f1-5 "$TMP/answers")"
	if [ -n "$said" ]; then
		ok "$what: the log says so" grep -qE "$said" "$TMP"/sluice.*.log
	fi
	ok "$what: the server lives" kill -0 "$BG"
	stop "$BG"
}
unset SLUICE_STATS_SHMEM_DIR # (the default is in /run)
here='offloaded: driver' away='everything stays with the kernel: .*remedy'
served "nothing" "" "$here"
served "/run is full" "$(full /run)" "stats: /run/.*ENOSPC"
served "/dev/shm is full" "$(full /dev/shm)" "$here"
served "/run, /dev/shm and /var/tmp are full" "$(full /run)$(full /dev/shm)$(full /var/tmp)" "stats: /run/.*ENOSPC"
served "no bpffs" "mount -t tmpfs none /sys/fs/bpf;" "no bpffs: .*remedy"
served "a bpffs that is read-only" "mount -t tmpfs -o ro none /sys/fs/bpf;" "no bpffs: .*remedy"
served "/run is read-only" "mount -t tmpfs -o ro none /run;" "$here"
served "RLIMIT_AS of 20 MB" "" "$away" prlimit --as=20971520
served "RLIMIT_MEMLOCK 0" "" "$here" prlimit --memlock=0
served "RLIMIT_NOFILE 20" "" "$away" prlimit --nofile=20
served "RLIMIT_FSIZE 0" "" "" prlimit --fsize=0
served "RLIMIT_NPROC 1" "" "$here" prlimit --nproc=1

# The daemon's: a program without privileges is served, whatever the daemon lacks.
lent() { # WHAT COMMANDS DAEMON-LOG-PATTERN [command that runs the daemon...]
	local what=$1 before=$2 said=$3 pid
	shift 3
	printf '%s\n' '#!/bin/sh' "exec unshare -m sh -c '$before"' exec "$@"'"' sh $* $BUILD/sluiced \"\$@\"" >"$TMP/sluiced"
	chmod +x "$TMP/sluiced"
	rm -f "$TMP"/sluice.*.log "$TMP/answers"
	SLUICED=$TMP/sluiced daemon_up b
	LEASED=1 bg sb "$BIN/echo" "$B4" 7000
	wait_udp b 7000
	a timeout 30 "$BIN/steady" -n 200 "$B4" 7000 "$TMP/answers"
	same "the daemon, $what: all are answered" "200 200 0 0 0" "$(cut -d' ' -f1-5 "$TMP/answers")"
	ok "the daemon, $what: the program lives" kill -0 "$BG"
	pid=$(SLUICE_DAEMON=$TMP/sluiced.b "$BUILD/sluice" daemon status | sed -n 's/.*, process \([0-9]*\),.*/\1/p')
	ok "the daemon, $what: it answers" test -n "$pid"
	ok "the daemon, $what: a log says so" grep -qE "$said" "$TMP"/sluice.*.log
	stop "$BG"
	kill "$pid"
	wait_until 20 gone "$pid" || die "the daemon does not end"
	wait_until 20 not test -e "$TMP/sluiced.b"
}
lent="offloaded by sluiced"
lent "nothing" "" "$lent"
lent "/run is full" "$(full /run)" "$lent"
lent "/run and /dev/shm are full" "$(full /run)$(full /dev/shm)" "$lent"
lent "no bpffs" "mount -t tmpfs none /sys/fs/bpf;" "no bpffs: .*remedy"
lent "RLIMIT_AS of 100 MB" "" "sluiced: no memory for .* frames" prlimit --as=104857600
lent "RLIMIT_AS of 40 MB" "" "sluiced: no memory for .* frames" prlimit --as=41943040
lent "RLIMIT_NOFILE 100" "" "$lent" prlimit --nofile=100
lent "RLIMIT_MEMLOCK 0" "" "$lent" prlimit --memlock=0
done_testing
