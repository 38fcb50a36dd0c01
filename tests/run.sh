#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Runs the tests: rooms or single files given as arguments, else all rooms but zoo.
#
#   tests/run.sh [-j JOBS] [-t SECONDS] [apps preload net sim vm bpf tcp unit zoo | path/to/test ...]
#
# At most JOBS (6) tests run at a time. Two may always run; more start only while the cores are idle,
# as most tests wait for a peer or a timer. Rooms with long tests come first, so that short tests
# fill the cores that the last long ones leave idle.
#
# A test is an executable that exits 0 (passed), 1 (failed) or 77 (skipped, says why). In unit, tcp
# and bpf it is a program test_*.c, in net, sim, vm, preload and apps a script *.sh (lib*.sh are not tests).
# Prints a line for each test (seconds, and CPU seconds), the output of failed tests, how long the run
# took and how idle the cores were, and as the last line `N passed, N failed, N skipped`. From DEADLINE
# on (environment, in seconds since the epoch) it begins no test of net, sim and apps, and names each
# as skipped. Logs are in $BUILD/logs. A test that failed beside others runs once more alone, and is
# named as unsteady if it passes. LONG and VARIANTS=no leave tests out (is_wanted below). MODES_NET
# are the MODES of net's scripts.
set -u
export LC_ALL=C
cd "$(dirname "$0")/.." || exit 1
BUILD=${BUILD:-build}
export BUILD
JOBS=6
LIMIT=${TEST_SECONDS:-400} # (the longest takes 40 to 190, by the machine)
while getopts j:t: opt; do
	case $opt in
	j) JOBS=$OPTARG ;;
	t) LIMIT=$OPTARG ;;
	*) exit 2 ;;
	esac
done
shift $((OPTIND - 1))
LOGS=$BUILD/logs
mkdir -p "$LOGS"

# True: the test is to run. VARIANTS=no leaves out scripts that run another one with a changed setting, as
# tcp_ways_nft.sh runs tcp_ways.sh. LONG=plain leaves out the tests that long.txt lists as "both" and "plain", and
# LONG=sanitized those that it lists as "both" and "sanitized". With either, a test that it lists as "short" has SHORT=1.
declare -A LISTED=()
while read -r kind name; do
	[[ $kind == '#'* || -z $name ]] || LISTED[$name]+=" $kind "
done <tests/long.txt
is_listed() { [[ ${LISTED[$1]:-} == *" $2 "* ]]; } # room/test, kind
is_variant() { # script
	case $1 in
	*_nft.sh | *_leased.sh | *_vlan.sh) [ -e "${1%_*}.sh" ] ;;
	*) return 1 ;;
	esac
}
is_wanted() { # script, or a program's source
	local name=${1#tests/}
	name=${name%.*}
	[ "${VARIANTS:-}" != no ] || ! is_variant "$1" || return 1
	[ -z "${LONG:-}" ] || { ! is_listed "$name" both && ! is_listed "$name" "$LONG"; }
}
tests_of() { # room
	local f
	case $1 in
	unit | tcp | bpf | preload)
		for f in tests/"$1"/test_*.c; do
			[ ! -e "$f" ] || ! is_wanted "$f" || echo "$BUILD/${f%.c}"
		done
		;;
	esac
	for f in tests/"$1"/*.sh; do
		case $(basename "$f") in
		lib*.sh | '*.sh') ;;
		*) ! is_wanted "$f" || echo "$f" ;;
		esac
	done
}

LIST=()
for arg in "${@:-apps preload net sim vm bpf tcp unit}"; do
	for room in $arg; do
		if [ -d "tests/$room" ]; then
			mapfile -t -O ${#LIST[@]} LIST < <(tests_of "$room")
		else
			LIST+=("$room")
		fi
	done
done

name_of() { # path: room/test
	local p=${1#"$BUILD"/}
	p=${p#tests/}
	echo "${p%.sh}"
}

run_one() { # path: leaves its status and time in the logs directory; in a subshell, whose environment it changes
	local path=$1 name log start rc run=()
	name=$(name_of "$path")
	log=$LOGS/${name//\//.}.log
	case $path in *.sh) run=(bash) ;; esac
	[ -z "${LONG:-}" ] || ! is_listed "$name" short || export SHORT=1
	[[ $path != tests/net/*.sh || -z ${MODES_NET:-} ]] || export MODES=$MODES_NET
	start=${EPOCHREALTIME/./}
	{ time timeout -k 10 "$LIMIT" "${run[@]}" "$path" >"$log" 2>&1 </dev/null; } 2>"$log.cpu"
	rc=$?
	local ms=$(((${EPOCHREALTIME/./} - start) / 1000))
	local what=FAILED
	case $rc in
	0) what=passed ;;
	77) what=skipped ;;
	124 | 137)
		echo "(ended after $LIMIT s)" >>"$log"
		timeout 30 unshare -n true || touch "$LOGS/stuck"
		;;
	esac
	echo "$what" >"$log.result"
	printf '%-8s %-40s %4d.%d s %5d.%d s' "$what" "$name" $((ms / 1000)) $((ms % 1000 / 100)) \
		$(awk '{ c = int(($1 + $2) * 10 + 0.5) } END { print int(c / 10), c % 10 }' "$log.cpu")
	[ "$rc" = 77 ] && printf '  %s' "$(tail -n 1 "$log")"
	printf '\n'
	if [ "$what" = FAILED ]; then
		{ grep -E '^FAILED|\[  FAILED  \]|ERROR' -A 3 "$log" | head -n 40; echo '  ...'; tail -n 15 "$log"; } |
			sed 's/^/    /'
		echo "    (exit $rc, all of it in $log)"
	fi
}

too_late() { # path: true if DEADLINE has passed and the test is in a room of long tests
	[ -n "${DEADLINE:-}" ] && [ "$EPOCHSECONDS" -ge "$DEADLINE" ] || return
	case $1 in tests/net/* | tests/sim/* | tests/apps/*) ;; *) return 1 ;; esac
}
leave_out() { # path
	echo skipped >"$LOGS/$(name_of "$1" | tr / .).log.result"
	echo "skipped  $(name_of "$1")  skipped: not begun, the suite's time is over"
}

IDLE_WAS=0 TOTAL_WAS=0
look_at_cores() { # sets IDLE to the percentage of the machine's time that was idle since the last look
	local user nice system idle iowait irq softirq steal total
	read -r _ user nice system idle iowait irq softirq steal _ </proc/stat
	total=$((user + nice + system + idle + iowait + irq + softirq + steal))
	idle=$((idle + iowait + nice)) # (nice processes give way: check.sh builds beside the suite)
	IDLE=$((total > TOTAL_WAS ? (idle - IDLE_WAS) * 100 / (total - TOTAL_WAS) : 0))
	IDLE_WAS=$idle TOTAL_WAS=$total
}

# Returns when one more test may start: at once while fewer than two run; else when, half a second after
# the last one started, a quarter of the machine was idle.
room_for_one() {
	local started=${EPOCHREALTIME/./}
	look_at_cores
	while :; do
		local n running
		jobs -rp >"$LOGS/running"
		mapfile running <"$LOGS/running"
		n=${#running[@]}
		[ "$n" -lt "$JOBS" ] && [ "$n" -lt 2 ] && return
		read -rt 0.1 <>"$LOGS/nap" # (without a process: this loop runs as long as the suite)
		[ $((${EPOCHREALTIME/./} - started)) -ge 500000 ] || continue
		look_at_cores
		started=${EPOCHREALTIME/./}
		[ "$n" -lt "$JOBS" ] && [ "$IDLE" -ge 25 ] && return
	done
}

# Programs that tests kill leave their counters' files behind: this directory is removed at the end.
SLUICE_STATS_SHMEM_DIR=$(mktemp -d "${TMPDIR:-/tmp}/sluice-stats.XXXXXX") || exit 2
chmod 1777 "$SLUICE_STATS_SHMEM_DIR"
export SLUICE_STATS_SHMEM_DIR
trap 'rm -rf "$SLUICE_STATS_SHMEM_DIR"' EXIT

rm -f "$LOGS"/*.result "$LOGS/stuck" "$LOGS/nap"
mkfifo "$LOGS/nap" || exit 2
BEGAN=$SECONDS
look_at_cores
IDLE_FIRST=$IDLE_WAS TOTAL_FIRST=$TOTAL_WAS
TIMEFORMAT='%U %S'
for path in "${LIST[@]}"; do
	room_for_one
	[ -e "$LOGS/stuck" ] && echo "FAILED   the kernel makes no network namespace any more: no further test is begun" && break
	if too_late "$path"; then leave_out "$path"; else run_one "$path" & fi
done
wait
IDLE_WAS=$IDLE_FIRST TOTAL_WAS=$TOTAL_FIRST
look_at_cores

# A test that failed beside others runs once more alone, since tests, their peers and everything that spins
# are more threads than cores. A real failure fails again; a test that passes now failed by its timing, and
# is named.
UNSTEADY=()
if [ ! -e "$LOGS/stuck" ] && [ "$JOBS" -gt 1 ] && [ ${#LIST[@]} -gt 1 ]; then
	for path in "${LIST[@]}"; do
		log=$LOGS/$(name_of "$path" | tr / .).log
		[ "$(cat "$log.result" 2>/dev/null)" = FAILED ] || continue
		cp "$log" "$log.first"
		echo "once more, alone:"
		(run_one "$path")
		[ "$(cat "$log.result")" = FAILED ] || UNSTEADY+=("$(name_of "$path")")
	done
fi

# Prints the lines of a log that check.sh repeats at its end.
tail_of_failure() { # log
	grep -aE '^FAILED|\[  FAILED  \]|ERROR' -A 4 "$1" | head -n 12 | cut -c1-200 | sed 's/^/    /'
}
count() { cat "$LOGS"/*.result 2>/dev/null | grep -c "^$1$"; }
failed=$(count FAILED)
echo
for f in "$LOGS"/*.result; do
	[ -e "$f" ] || continue
	[ "$(cat "$f")" = FAILED ] || continue
	echo "failed: $(basename "$f" .log.result)"
	[ -z "${FAILURES:-}" ] || { echo "failed: ${f%.log.result}"; tail_of_failure "${f%.result}"; } >>"$FAILURES"
done
[ ${#UNSTEADY[@]} -gt 0 ] && echo "unsteady (failed beside another test, passed alone): ${UNSTEADY[*]}"
echo "$((SECONDS - BEGAN)) s, $IDLE % of the cores' time idle"
[ -n "${TOTALS:-}" ] && echo "$(count passed) $failed $(count skipped)" >>"$TOTALS"
echo "$(count passed) passed, $failed failed, $(count skipped) skipped"
[ "$failed" = 0 ] && [ ${#LIST[@]} -gt 0 ]
