#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# MEM_ALLOC_TYPE and HUGETBL: packet memory lies on reserved huge pages, on transparent ones or on ordinary pages, as
# the kernel itself tells (/proc/PID/smaps).
. "$(dirname "$0")/lib.sh"
net_up
need python3 flock
need_built
MODE=one
bg a python3 "$TESTS/net/reflector.py" "$A4" 7000 1
wait_udp a 7000

# How many KB of the program's packet memory lie on pages of each kind: the size of its pages in KB, those that are
# reserved huge pages, and those that are transparent ones.
pages() { # settings...: sets SIZE, RESERVED and CLEAR; LOG is what the library said
	SL_ENV=("SLUICE_LOG_FILE=$TMP/log" "$@")
	rm -f "$TMP/log" "$TMP/out"
	bg sb python3 "$TESTS/net/settings.py" wait "$B4" "$A4" 7000 >"$TMP/out"
	wait_line "$TMP/out" ready
	read -r SIZE RESERVED CLEAR < <(awk '/^[0-9a-f]+-/ { ours = /sluice-umem/ }
		ours && $1 == "KernelPageSize:" { size = $2 }
		ours && /_Hugetlb:/ { held += $2 }
		ours && $1 == "ShmemPmdMapped:" { clear += $2 }
		END { print size + 0, held + 0, clear + 0 }' "/proc/$BG/smaps")
	LOG=$(cat "$TMP/log")
	stop "$BG"
}
complains() { grep -q "no huge pages" <<<"$LOG"; }

# The machine's number of reserved pages is changed for a moment; a test that depends on it has the same lock.
exec 9>/tmp/sluice-tests.huge
flock 9
NR=/proc/sys/vm/nr_hugepages
before=$(cat $NR)
restore() { echo "$before" >$NR; }
trap 'rc=$?; restore; (exit $rc); at_exit' EXIT
{ echo $((before + 48)) >$NR; } 2>/dev/null
free=$(awk '$1 == "HugePages_Free:" { print $2 }' /proc/meminfo)
if [ "$(awk '$1 == "Hugepagesize:" { print $2 }' /proc/meminfo)" = 2048 ] && [ "${free:-0}" -ge 40 ]; then
	for s in SLUICE_MEM_ALLOC_TYPE=1 SLUICE_MEM_ALLOC_TYPE=2 SLUICE_HUGETBL=1 VMA_MEM_ALLOC_TYPE=HUGEPAGES; do
		for _ in 1 2 3; do # (a program of another test may take them)
			pages "$s"
			[ "$SIZE" != 2048 ] || break
		done
		same "$s: pages of 2 MB" 2048 "$SIZE"
		ok "which are reserved ones ($RESERVED KB)" test "$RESERVED" -ge 2048
		ok "and nothing is said" not complains
	done
	pages SLUICE_MEM_ALLOC_TYPE=0
	same "SLUICE_MEM_ALLOC_TYPE=0: ordinary pages, though there are others" "4 0 0" "$SIZE $RESERVED $CLEAR"
	reserved=1
else
	say "no huge pages can be reserved here: not tested"
fi
if [ "$before" = 0 ]; then
	restore
	pages SLUICE_MEM_ALLOC_TYPE=1
	same "without reserved ones: shared memory" "4 0" "$SIZE $RESERVED"
	ok "on transparent huge pages ($CLEAR KB), or it is said that there are none" eval \
		'if complains; then [ "$CLEAR" = 0 ]; else [ "$CLEAR" -ge 2048 ]; fi'
elif [ -z "${reserved:-}" ]; then
	skip "the machine has huge pages, and they are in use"
fi
done_testing
