#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Functions of the C library by dlsym(3), and objects bound with RTLD_DEEPBIND, use our sockets as the program does.
. "$(dirname "$0")/lib.sh"
case $BUILD in *san*) skip "a sanitizer refuses RTLD_DEEPBIND" ;; esac
need gcc
for so in "named.so -Wl,-z,lazy" "named_now.so -Wl,-z,now"; do
	# shellcheck disable=SC2086
	gcc -shared -fPIC -DSHARED -D_GNU_SOURCE -O1 ${so#* } -o "$PBIN/${so%% *}" "$TESTS/preload/named.c" || skip "no compiler"
done
preload_test named
