#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Functions of the C library by dlsym(3), and objects bound with RTLD_DEEPBIND, use our sockets as the program does.
. "$(dirname "$0")/lib.sh"
unsanitized "a sanitizer refuses RTLD_DEEPBIND"
need gcc
echo 'long recv(int fd, void *b, unsigned long n, int flags) { return 77; }' >"$TMP/dep.c"
gcc -shared -fPIC -w -o "$PBIN/libnamed_dep.so" "$TMP/dep.c" || skip "no compiler"
for so in "named.so -Wl,-z,lazy" "named_now.so -Wl,-z,now" "named_own.so -Wl,-z,lazy,-rpath,\$ORIGIN -L$PBIN -lnamed_dep"; do
	# shellcheck disable=SC2086
	gcc -shared -fPIC -DSHARED -D_GNU_SOURCE -O1 -o "$PBIN/${so%% *}" "$TESTS/preload/named.c" ${so#* } || skip "no compiler"
done
preload_test named
