#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Memory runs out, VM_COUNT times, while a connection carries bytes that are checked: a hog takes all there is, the
# kernel reclaims what it can (the pages of the programs' files among it) and at last ends the hog. And where
# memory is given out only as far as it reaches (vm.overcommit_memory 2) a new program that does not get
# what the library wants has its sockets by the kernel, or is offloaded; it is never ended for it.
VM_NICS=${VM_NICS:-virtio} VM_MEM=512 VM_COUNT=${VM_COUNT:-10} VM_SECONDS=${VM_SECONDS:-3000}
VM_PASS=VM_SCARCE
. "$(dirname "$0")/../lib.sh"
. "$VM_DIR/lib_events.sh"
vm_stat() { awk -v name="$1" '$1 == name { print $2 }' /proc/vmstat; }
hog() { # round: takes memory until the kernel ends the program that takes it
	local killed reclaimed
	killed=$(vm_stat oom_kill) reclaimed=$(vm_stat pgsteal_direct)
	{
		timeout 300 python3 -c '
import mmap
open("/proc/self/oom_score_adj", "w").write("1000")
held = []
while True:
    held.append(mmap.mmap(-1, 1 << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | mmap.MAP_POPULATE))
'
	} 2>/dev/null
	[ "$(vm_stat oom_kill)" -gt "$killed" ] && [ "$(vm_stat pgsteal_direct)" -gt "$reclaimed" ]
}
# Runs a program while the kernel has so many MB left to promise: too few for the library, enough for a part, or for all.
scarce() { # MB
	local rc
	sysctl -qw vm.overcommit_kbytes=$(($(awk '/^Committed_AS/ { print $2 }' /proc/meminfo) + $1 * 1024)) vm.overcommit_memory=2
	SL_ENV=("SLUICE_LOG_FILE=$TMP/ram/%d.log" SLUICE_FRAME_SIZE=4096)
	sb python3 "$VM_DIR/bytes.py" ask "$A4" 7001 100000 "$TMP/ram/scarce" 20
	rc=$? # (the status is above 128 if the kernel ended it)
	sysctl -qw vm.overcommit_memory=0
	same "a program with $1 MB to be had ends well" 0 $rc
	say "$1 MB: bytes, and connections that the kernel has: $(cat "$TMP/ram/scarce")"
	[ "$(cat "$TMP/ram/scarce")" = "100000 0" ] || grep -hm 1 'stays with the kernel' "$TMP"/ram/*.log || fail "nothing is said of it"
	rm -f "$TMP"/ram/*.log
}
use 1
net_up
SL_ENV=(SLUICE_FRAME_SIZE=4096)
stream_begin
rounds hog
stream_end
same "connections that the kernel has" 0 "$(cut -d' ' -f2 "$TMP/stream")"
# (The log and the result are in memory that nobody counts; a tmpfs takes its pages from the same account.)
mkdir "$TMP/ram" && mount -t ramfs r "$TMP/ram"
for mb in ${VM_SCARCE:-30 40 60 80 120 160 200 400 2000}; do
	scarce $mb
done
same "with enough of it a program is offloaded" "100000 0" "$(cat "$TMP/ram/scarce")"
umount "$TMP/ram"
kernel_quiet
done_testing
