#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Functions of the C library by dlsym(3), and objects bound with RTLD_DEEPBIND, use our sockets as the program does.
. "$(dirname "$0")/lib.sh"
case $BUILD in *san*) skip "a sanitizer refuses RTLD_DEEPBIND" ;; esac
need gcc
gcc -shared -fPIC -DSHARED -D_GNU_SOURCE -O1 -o "$PBIN/named.so" "$TESTS/preload/named.c" || skip "no compiler"
preload_test named
