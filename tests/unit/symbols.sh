#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# What the shared libraries show to and want from the program they live in: the public calls and
# nothing else, no stdio, no exit, no call that the preload library takes over, and thread-local
# storage that is there from the start.
set -u
cd "$(dirname "$0")/../.." || exit 1
BUILD=${BUILD:-build}
LIB=$BUILD/libsluice.so PRE=$BUILD/libsluice-preload.so
[ -e "$LIB" ] && [ -e "$PRE" ] || { echo "FAILED: $LIB, $PRE are not built"; exit 1; }
case $(basename "$BUILD") in *san*) echo "skipped: a sanitizer brings symbols of its own"; exit 77 ;; esac
bad=0
check() { # what, condition...
	local what=$1
	shift
	if "$@"; then echo "ok: $what"; else echo "FAILED: $what"; bad=1; fi
}
same() { # what, expected, got: lists, a name a line
	local d
	d=$(diff <(sort -u <<<"$2") <(sort -u <<<"$3"))
	[ -z "$d" ] && [ -n "$2" ]
	check "$1" test $? = 0
	[ -z "$d" ] || sed 's/^/  /' <<<"$d"
}
none() { # what, found
	check "$1${2:+: $(xargs <<<"$2")}" test -z "$2"
}
exported() { nm -D --defined-only "$1" | awk '$2 != "A" { sub(/@.*/, "", $3); print $3 }'; }
wanted() { nm -D --undefined-only "$1" | awk '{ sub(/@.*/, "", $NF); print $NF }'; }
common() { sort -u <(tr ' ' '\n' <<<"$1") | comm -12 - <(sort -u <<<"$2"); }

public=$(sed 's@/\*.*\*/@@; /^ \*/d; /^typedef/d' lib/sluice*.h | grep -oE '\bsl_[a-z0-9_]+\(' | tr -d '(' | sort -u)
calls=$(sed -n '/global:/,/local:/s/^\t\([A-Za-z0-9_]*\);.*/\1/p' preload/preload.map)
same "libsluice.so exports what sluice.h declares" "$public" "$(exported "$LIB")"
same "libsluice-preload.so exports the calls of preload.map" "$calls" "$(exported "$PRE")"
none "the preload library wants only public calls of ours" \
	"$(wanted "$PRE" | grep '^sl_' | grep -vxF "$public")"
# (preload/named.c leaves the library's own dlopen(3) and dlsym(3) alone.)
none "libsluice.so wants none of the calls taken over" \
	"$(common "$(grep -vxE 'dlopen|dlsym' <<<"$calls")" "$(wanted "$LIB")")"
none "no stdio, no exit, no locale" "$(common \
	"printf fprintf vprintf vfprintf puts fputs putchar fopen fdopen fwrite fflush perror stdout stderr exit _exit abort quick_exit system setlocale strtok rand srand setenv putenv" \
	"$(wanted "$LIB"; wanted "$PRE" | grep -vx exit)")"
# (The last thread of a process ends it by exit(3), as the C library's pthread_exit(3) does.)
none "exit(3) for the last thread alone" "$(grep -rnE '(^|[^A-Za-z_.:])exit\(|[(, ]exit[,)]' preload --include=*.c |
	grep -vE '^preload/exit.c:[0-9]+:([[:space:]]before_end\(exit, 0\);|SL_SYS\(exit\)| \*)')"
# Calls that a signal handler may make do not come to malloc(3), which it may have interrupted. (The
# skeletons of the BPF programs do, when a device is opened: never in a handler, base/handler.h.)
none "lib allocates by base/heap.h" "$(grep -rnE \
	'(^|[^a-z_])((m|c|re)alloc|free|aligned_alloc|posix_memalign|strn?dup|v?asprintf|getline|qsort|scandir|popen)\(' \
	lib --include=*.c | grep -vE '^lib/base/heap.c:|\(3\)')"
none "libsluice.so: nothing but skeletons allocates" "$(common \
	"malloc realloc reallocarray aligned_alloc posix_memalign memalign strdup strndup asprintf vasprintf getline qsort" "$(wanted "$LIB")")"
for so in "$LIB" "$PRE"; do
	name=$(basename "$so")
	none "$name: nothing resolves thread-local storage late" "$({ wanted "$so" | grep -x __tls_get_addr
		readelf -rW "$so" | grep -oE 'R_[A-Z0-9_]*(DTPMOD|TLSDESC)[A-Z0-9]*'; })"
	# A library that is loaded late gets thread-local storage from the C library's reserve: 1664 bytes for all.
	tls=$(readelf -lW "$so" | awk '$1 == "TLS" { print $6 }')
	check "$name: $((tls)) bytes of thread-local storage" test $((tls)) -le 1024
	none "$name: no text relocations" "$(readelf -dW "$so" | grep TEXTREL)"
	check "$name: bound at start, and for good" grep -q 'NOW NODELETE' <(readelf -dW "$so")
	check "$name: read-only after relocation" grep -q GNU_RELRO <(readelf -lW "$so")
	none "$name: nothing writable and executable" "$(readelf -lW "$so" | grep RWE)"
	none "$name: looks for libraries beside itself only" \
		"$(readelf -dW "$so" | sed -n 's/.*R\(UN\)\{0,1\}PATH.*\[\(.*\)\]/\2/p' | grep -vxF '$ORIGIN')"
	none "$name: knows no path of this machine" "$(strings "$so" | grep -F "$PWD")"
done
none "libsluice-preload.so: a program loads nothing for it but the C library" \
	"$(readelf -dW "$BUILD/libsluice-preload.so" | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p' | grep -vE '^(libc|ld-linux.*|libdl|libpthread)\.so')"
exit $bad
