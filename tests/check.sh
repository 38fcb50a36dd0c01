#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Runs all parts of `make check` once everything is built: layers, the suite, the suite under
# AddressSanitizer and UndefinedBehaviorSanitizer, the fuzzers for a few seconds. A part that fails
# does not keep the others from running. Last line: `N passed, N failed, N skipped`, of all parts.
#
# `make check` must end within twenty-five minutes on two cores, and within CI's limit on two slow ones, so this
# script leaves some cases out. A test of both address families runs IPv4 in the plain build and IPv6 in the
# sanitizer build (the code differs only in the headers). The plain build receives by packet sockets, the default on a
# veth, the sanitizer build by XDP. A test of net preloads the subject alone in the plain build and the peer as well in
# the sanitizer build, and runs on the kernel only where it compares with it.
# Other programs are preloaded as servers and
# on both sides, not as clients alone. Scripts that run another script with a changed setting run in
# the plain build alone. Tests that long.txt lists are for `make check-long`, some of them in their long form.
# `make run-tests` and `make asan` run all cases.
#
# The fuzz targets run for a moment here with the sanitizer build's objects (tests/fuzz/blind.c): libFuzzer needs a build
# of its own, which costs more than its search finds in seconds (`make check-long`, `make fuzz`).
#
# While the suite runs, the sanitizer build is compiled on idle cores (SCHED_IDLE,
# which leaves a core to any other process that wants it).
set -u
cd "$(dirname "$0")/.." || exit 1
BUILD=${BUILD:-build}
MAKE=${MAKE:-make}
# From this time on the suite with sanitizers begins no long test, and names those it leaves out.
LAST_LONG=$(($(date +%s) + ${CHECK_SECONDS:-4000}))
TOTALS=$BUILD/check.totals
FAILURES=$BUILD/check.failures # printed again at the end: often only a log's last lines are kept
mkdir -p "$BUILD"
: >"$TOTALS"
: >"$FAILURES"
export TOTALS FAILURES

part() { # name, command...: counts as one test, by the command's exit status
	local name=$1
	shift
	echo "== $name"
	if "$@"; then
		echo "1 0 0" >>"$TOTALS"
	else
		echo "FAILED   $name"
		echo "failed: $name" >>"$FAILURES"
		echo "0 1 0" >>"$TOTALS"
	fi
}
suite() { # name, rooms...; the caller's environment goes to run.sh
	echo "== $1"
	shift
	tests/run.sh "$@"
}

part layers tests/layers.sh
# If the kernel makes no more namespaces, each test would wait until its time limit: stop here.
if ! timeout -k 5 30 unshare -n true; then
	echo "FAILED   no network namespace could be made (not root, or the kernel's rtnl lock is stuck)"
	echo "0 passed, 1 failed, 0 skipped"
	exit 1
fi

build_rest() {
	chrt -i -p 0 $BASHPID
	renice -n 19 $BASHPID
	$MAKE --no-print-directory -j"$(nproc)" asan-build
} >"$BUILD/check.rest.log" 2>&1
set -m # (a process group of its own, to end it as a whole)
build_rest &
REST=$!
set +m
trap 'kill -- -$REST 2>/dev/null' EXIT

# Fetches the guest's kernel meanwhile. If that fails, vm/short says so.
nice -n 10 tests/vm/lib_fetch.sh kernel 6.18 >/dev/null 2>&1 &

BUILD=$BUILD FAMILIES=4 APPS_MODES="kernel server both" LONG=plain MODES_NET="oracle one" \
	suite "the suite" apps preload net sim vm bpf tcp unit tests/zoo/lighttpd.sh tests/zoo/mosquitto.sh
if wait $REST; then
	BUILD=build-asan RX=xdp MODES="oracle both" FAMILIES=6 VARIANTS=no LONG=sanitized DEADLINE=$LAST_LONG \
		suite "the suite with ASan and UBSan" preload net sim bpf tcp unit
	UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1:abort_on_error=1 part "fuzzers" tests/fuzz/run.sh build-asan/tests/fuzz 3 1
else
	part "build with ASan" false
	tail -n 20 "$BUILD/check.rest.log"
fi

cat "$FAILURES"
awk '{ p += $1; f += $2; s += $3 } END { printf "%d passed, %d failed, %d skipped\n", p, f, s; exit f > 0 }' "$TOTALS"
