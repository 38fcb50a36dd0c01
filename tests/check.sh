#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# All that `make check` runs once everything is built: layers, the suite, the suite under
# AddressSanitizer and UndefinedBehaviorSanitizer, the fuzzers for a few seconds. A part that fails
# does not keep the others from running. Last line: `N passed, N failed, N skipped`, of all.
set -u
cd "$(dirname "$0")/.." || exit 1
BUILD=${BUILD:-build}
MAKE=${MAKE:-make}
TOTALS=$BUILD/check.totals
mkdir -p "$BUILD"
: >"$TOTALS"
export TOTALS

part() { # name, command...: a test by its exit status, where the command does not count itself
	local name=$1
	shift
	echo "== $name"
	if "$@"; then echo "1 0 0" >>"$TOTALS"; else echo "FAILED   $name" && echo "0 1 0" >>"$TOTALS"; fi
}
suite() { # name, rooms..., in the environment given
	echo "== $1"
	shift
	tests/run.sh "$@"
}

part layers tests/layers.sh
if $MAKE --no-print-directory -j"$(nproc)" asan-build >"$BUILD/check.asan.log" 2>&1; then
	# (One family of TCP: the other is the same code but for the headers. `make asan` has both.)
	BUILD=build-asan MODES="oracle both" FAMILIES=4 suite "the suite with ASan and UBSan" preload net sim bpf tcp unit
else
	tail -n 20 "$BUILD/check.asan.log"
	part "build with ASan" false
fi
part "fuzzers" $MAKE --no-print-directory -j"$(nproc)" fuzz-short
BUILD=$BUILD suite "the suite"

awk '{ p += $1; f += $2; s += $3 } END { printf "%d passed, %d failed, %d skipped\n", p, f, s; exit f > 0 }' "$TOTALS"
