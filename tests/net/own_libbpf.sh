#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# A program that has a function of a name of libbpf's: it is offloaded, and the function is not called. With a
# malloc() of its own, too, it stays with the kernel.
. "$(dirname "$0")/lib.sh"
unsanitized "a sanitizer has a malloc() of its own"
net_up
answers() { # [variable=value...] program
	local what=${*##*/}
	bg sb env "$@" "$B4" >"$TMP/said" 2>&1
	wait_udp b 7000
	a python3 "$TESTS/net/ask_ten.py" "$B4"
	wait_end "$BG" 20
	same "$what: it ends" 0 $?
	same "$what: what it says" "answered ten, called 0 times" "$(cat "$TMP/said")"
}
MODE=one
offload_begin
answers "$BIN/own_libbpf"
offload_end 10
offload_begin
answers "$BIN/own_btf"
offload_end 10
malloc=$(compgen -G "/usr/lib/*/libjemalloc.so.2" || compgen -G "/usr/lib/*/libtcmalloc_minimal.so.4") || malloc=
if [ -n "$malloc" ]; then
	rm -f "$TMP"/sluice.*.log
	answers "LD_PRELOAD=${malloc%%$'\n'*}:$PRELOAD" "$BIN/own_libbpf"
	ok "its log names the remedy" grep -q "functions of libbpf's names; remedy: start sluiced" "$TMP"/sluice.*.log
fi
done_testing
