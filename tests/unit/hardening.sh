#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# The compiler's protections are in what is built, and systemd takes the daemon's unit for well
# confined: an exposure of 3.0 at most.
set -u
cd "$(dirname "$0")/../.." || exit 1
BUILD=${BUILD:-build}
case $(basename "$BUILD") in *san*) echo "skipped: a sanitizer has checks of its own"; exit 77 ;; esac
bad=0
check() { # what, condition...
	local what=$1
	shift
	if "$@"; then echo "ok: $what"; else echo "FAILED: $what"; bad=1; fi
}
wants() { nm -D --undefined-only "$1" | grep -q " $2\(@\|$\)"; }
for f in libsluice.so libsluice-preload.so sluice sluiced; do
	f=$BUILD/$f
	check "$f: its stack is no code" grep -q 'GNU_STACK.* RW ' <(readelf -lW "$f")
	check "$f: read-only after relocation, bound at start" grep -q 'BIND_NOW\|NOW' <(readelf -dW "$f")
	check "$f: GNU_RELRO" grep -q GNU_RELRO <(readelf -lW "$f")
	case $f in
	*preload*) continue ;; # (has no buffers to protect; its wrappers are the checked functions)
	esac
	check "$f: functions with arrays guard their return address" wants "$f" __stack_chk_fail
	check "$f: calls of the C library check sizes" grep -q '_chk$' <(nm -D --undefined-only "$f" | sed 's/@.*//')
	case $(uname -m) in
	x86_64) check "$f: indirect branches land where they may" test "$(objdump -d "$f" | grep -c endbr64)" -gt 100 ;;
	esac
done
for f in sluice sluiced; do
	check "$BUILD/$f: at an address of chance" grep -q 'DYN (Position-Independent' <(readelf -hW "$BUILD/$f")
done

command -v systemd-analyze >/dev/null || { echo "skipped: systemd-analyze is not here"; exit $((bad ? 1 : 77)); }
unit=$(mktemp -d) || exit 1
trap 'rm -rf "$unit"' EXIT
sed 's,^ExecStart=.*,ExecStart=/bin/true,' conf/sluiced.service >"$unit/sluiced.service"
complaints=$(SYSTEMD_LOG_LEVEL=warning systemd-analyze verify --man=no "$unit/sluiced.service" 2>&1 | grep sluiced.service)
check "systemd knows each line of the unit${complaints:+: $complaints}" test -z "$complaints"
exposure=$(systemd-analyze security --offline=true --no-pager "$unit/sluiced.service" 2>/dev/null |
	sed -n 's/.*Overall exposure level.*: \([0-9.]*\).*/\1/p')
check "exposure ${exposure:=10} (3.0 at most)" awk -v e="$exposure" 'BEGIN { exit !(e <= 3.0) }'
exit $bad
