#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# The files that the library's threads look at again and again are opened by the program's thread, in its first call:
# a thread of the library would take a number that the program is about to get.
. "$(dirname "$0")/lib.sh"
need strace
unset SLUICE_START
unsanitized "a sanitizer's threads are seen, too"
net_up
MODE=one
# (The program's thread is held after it has made a thread, so that this one looks first.)
b env LD_PRELOAD="$BUILD/libsluice-preload.so" strace -f -o "$TMP/trace" -e trace=openat,clone3,exit_group \
	-e inject=clone3:delay_exit=50000 "$BIN/first_socket" udp "$B4" >/dev/null
PROGRAM=$(awk 'NR == 1 { print $1 }' "$TMP/trace") # (a process of the library's may end after it)
ok "the program has threads of the library's" grep -q clone3 "$TMP/trace"
same "files of the control group that they open" 0 "$(grep cgroup "$TMP/trace" | grep -vc "^$PROGRAM ")"
ok "the program's thread opens them" grep -q "^$PROGRAM .*/proc/self/cgroup" "$TMP/trace"

# So are the files of counters that killed programs have left, and it removes them. (In a directory of its own: the
# programs of other tests remove them, too.)
SLUICE_STATS_SHMEM_DIR=$TMP/stats
mkdir -m 700 "$SLUICE_STATS_SHMEM_DIR"
DEAD=$SLUICE_STATS_SHMEM_DIR/sluice.4194000.stats
: >"$DEAD"
b env LD_PRELOAD="$BUILD/libsluice-preload.so" strace -f -o "$TMP/trace" -e trace=openat,execve timeout 1.5 "$BIN/echo" "$B4" 7001
PROGRAM=$(awk '/execve\(.*echo"/ && / = 0$/ { print $1 }' "$TMP/trace" | tail -n 1)
same "threads that open such a file" "$PROGRAM" "$(awk '/sluice.4194000/ { print $1 }' "$TMP/trace" | sort -u)"
ok "it is removed" test ! -e "$DEAD"
# Later looks of these threads are made by a thread with a table of descriptors of its own.
b strace -f -o "$TMP/later" -e trace=openat,close_range env LD_PRELOAD="$PRELOAD" "$BIN/echo" "$B4" 7002 &
PIDS+=("$!")
wait_udp b 7002
wait_until 10 grep -q tcp_rmem "$TMP/later" || fail "no setting of TCP is read"
# (While the device is opened, calls that take a number wait.)
b python3 -c 'import socket, sys; socket.socket(2, 2).sendto(b"x", (sys.argv[1], 7002))' "$B4"
sleep 1
from=$(wc -l <"$TMP/later")
b sysctl -qw net.ipv4.tcp_fin_timeout=33
ok "settings are read again" wait_until 10 eval 'tail -n +$((from + 1)) "$TMP/later" | grep -q ip_local_port_range'
same "numbers of the program's that this takes" "" "$(awk -v from="$from" '
	/close_range\(0, 4294967295, CLOSE_RANGE_UNSHARE/ { own[$1] = 1 }
	NR > from && /openat.* = [0-9]+$/ && $NF < 512 && !own[$1]' "$TMP/later" | head -n 3)"
done_testing
