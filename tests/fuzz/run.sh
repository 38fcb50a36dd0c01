#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Runs every fuzzer for a time on its corpus: fuzz/run.sh BUILD-DIRECTORY SECONDS [SEED]. With a seed each run tries the
# same inputs, as far as it comes, so that `make check` says the same twice. New inputs go to the build directory;
# tests/fuzz/corpus/<target>/ holds the seeds and what has once crashed, tests/fuzz/dict/<target> the words of its
# language.
set -u
dir=$1 seconds=$2 seed=${3:-0} bad=0 ran=0
here=$(dirname "$0")
mkdir -p "$dir/logs"
run() { # program: a line of what became of it, and its status
	local bin=$1 name seeds=()
	name=$(basename "$bin")
	mkdir -p "$dir/corpus/$name"
	[ -d "$here/corpus/$name" ] && seeds=("$here/corpus/$name")
	[ -f "$here/dict/$name" ] && seeds+=("-dict=$here/dict/$name")
	if timeout $((seconds + 60)) "$bin" -max_total_time="$seconds" -seed="$seed" -timeout=10 -rss_limit_mb=2048 \
		-artifact_prefix="$dir/crash-$name-" -print_final_stats=1 "$dir/corpus/$name" "${seeds[@]}" \
		>"$dir/logs/$name.log" 2>&1; then
		echo "passed   fuzz/$name: $(sed -n 's/stat::number_of_executed_units: *//p' "$dir/logs/$name.log") inputs in $seconds s"
	else
		echo "FAILED   fuzz/$name"
		grep -v '^#' "$dir/logs/$name.log" | tail -n 30 | sed 's/^/    /'
		return 1
	fi
}
# Runs as many fuzzers at a time as there are cores.
for bin in "$dir"/fuzz_*; do
	[ -x "$bin" ] && [ ! -d "$bin" ] || continue
	case $bin in *.*) continue ;; esac
	run "$bin" &
	ran=$((ran + 1))
	[ $ran -lt "$(nproc)" ] || wait -n || bad=1
done
for ((i = 0; i < ran && i < $(nproc) - 1; i++)); do wait -n || bad=1; done
[ $ran -gt 0 ] || { echo "no fuzzers were built in $dir"; exit 1; }
exit $bad
