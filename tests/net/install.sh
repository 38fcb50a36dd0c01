#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# The files of `make install` work in their place: a program is preloaded and offloaded from there, the library finds
# its parts and the tool beside itself, and the manual pages are there.
RX=xdp # (the test looks at XDP programs and sockets)
. "$(dirname "$0")/lib.sh"
net_up
need python3 make gcc
unsanitized "a sanitizer's build is not installed"
MODE=one
PREFIX=$(cat "$BUILD/prefix" 2>/dev/null) || skip "nothing is built"
make -s -C "$TOP" install BUILD="${BUILD#"$TOP/"}" DESTDIR="$TMP/x" PREFIX="$PREFIX" >"$TMP/make" 2>&1 ||
	{ cat "$TMP/make"; die "make install fails"; }
would() { make -n -C "$TOP" install BUILD="${BUILD#"$TOP/"}" PREFIX="$PREFIX" LDCONFIG=the-linkers-cache "$@" 2>&1 | grep -c the-linkers-cache; }
same "the linker's cache is made anew, but not for a package" "1 0" "$(would DESTDIR=) $(would DESTDIR="$TMP/x")"
# The tree is moved, so that nothing can depend on the place where it was installed.
mv "$TMP/x$PREFIX" "$TMP/away"
IN=$TMP/away

same "what is installed" "bin/mlnx_qos bin/sluice bin/sluiced bin/tc_wrap bin/tc_wrap.py bin/vma_stats include/mellanox/vma_extra.h \
include/sluice.h include/sluice_extra.h include/sluice_process.h lib/libsluice-preload.so lib/libsluice.so \
lib/libsluice.so.1 lib/pkgconfig/sluice.pc share/bash-completion/completions/mlnx_qos share/bash-completion/completions/sluice \
share/bash-completion/completions/tc_wrap share/bash-completion/completions/tc_wrap.py share/bash-completion/completions/vma_stats \
share/sluice/connectx-check share/sluice/sluice.conf share/sluice/sluiced.conf share/sluice/sluiced.service" \
	"$(cd "$IN" && find . ! -type d ! -path './share/man/*' | sed 's,^\./,,' | sort | xargs)"
ok "the preload library finds its other half beside it" grep -q " $IN/lib/libsluice.so.1" \
	<(b env LD_PRELOAD="$IN/lib/libsluice-preload.so" SLUICE_TRACELEVEL=1 python3 -c '
import socket
socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
print(open("/proc/self/maps").read())')
for page in "$IN"/share/man/man*/*; do
	ok "manual page $(basename "$page")" grep -q '^\.TH' "$page"
done
for page in man1/sluice.1 man1/sluice-run.1 man1/vma_stats.1 man1/mlnx_qos.1 man1/tc_wrap.1 man5/sluice.conf.5 man8/sluiced.8 man7/sluice-settings.7 man7/sluice-vma.7; do
	ok "$page" test -s "$IN/share/man/$page"
done
ok "mlnx_qos and tc_wrap are there" grep -q 'sluice qos -i.*tc_wrap -i' \
	<({ "$IN/bin/mlnx_qos" --help; "$IN/bin/tc_wrap" --help; "$IN/bin/tc_wrap.py" --help; } | grep usage | xargs)
ok "vma_stats is there" grep -q sluice <("$IN/bin/vma_stats" --help 2>&1)
printf '#include <sluice.h>\nint main(void) { return sl_is_ours(0); }\n' >"$TMP/t.c"
ok "the header and the library serve a program" \
	gcc -std=c11 -D_POSIX_C_SOURCE=200809L -Wall -Werror -o "$TMP/t" "$TMP/t.c" -I"$IN/include" -L"$IN/lib" -lsluice -Wl,-rpath,"$IN/lib"
ok "and it runs" "$TMP/t"
ok "the rules that are shipped are good ones" "$IN/bin/sluice" rule list --file "$IN/share/sluice/sluice.conf"

# Runs a program by `sluice run` from there, with the build directory out of reach.
bg a python3 "$TESTS/net/reflector.py" "$A4" 7000 1
wait_udp a 7000
bg b env SLUICE_LOG_FILE="$TMP/sluice.%d.log" SLUICE_STATS_SHMEM_DIR="$TMP" "$IN/bin/sluice" run -- \
	python3 "$TESTS/net/settings.py" wait "$B4" "$A4" 7000 >"$TMP/out"
PROGRAM=$BG
wait_line "$TMP/out" ready
ok "it is preloaded from there" grep -q "$IN/lib/libsluice-preload.so" "/proc/$PROGRAM/maps"
ok "with nothing of the build" not grep -q "$BUILD" "/proc/$PROGRAM/maps"
ok "it is offloaded" grep -q 'prog/xdp' <(b ip -d link show "$DEV_B")
reaper() { # prints the reaper in this host's namespace
	local p
	for p in $(pgrep -f '^sluice reaper'); do
		[ "$(readlink "/proc/$p/ns/net")" = "$(readlink "/proc/$PROGRAM/ns/net")" ] && readlink "/proc/$p/exe"
	done
}
same "the reaper is the tool from ../bin" "$IN/bin/sluice" "$(reaper)"
export SLUICE_STATS_SHMEM_DIR=$TMP
ok "vma_stats sees it" grep -q "$PROGRAM" <(b "$IN/bin/vma_stats" --list)
kill -9 "$PROGRAM"
clean() { not grep -q 'prog/xdp' <(b ip -d link show "$DEV_B"); }
ok "and cleans up" wait_until 5 clean
done_testing
