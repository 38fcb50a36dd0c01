#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Each check of tests/layers.sh fails on a tree that breaks its rule, and only there.
set -u
cd "$(dirname "$0")/../.." || exit 1
LAYERS=$PWD/tests/layers.sh
T=$(mktemp -d)
trap 'rm -rf "$T"' EXIT
export ROOT=$T BUILD=build
bad=0

write() { # file: its text from stdin, and its object
	mkdir -p "$T/$(dirname "$1")" "$T/build/$(dirname "$1")"
	cat >"$T/$1"
	case $1 in
	tests/* | *.h) ;;
	*) ${CC:-cc} -w -I"$T/lib" -I"$T/bpf" -c "$T/$1" -o "$T/build/${1%.c}.o" || exit 1 ;;
	esac
}
empty() { # file.c, lines: a source of so many empty lines, and its object
	mkdir -p "$T/$(dirname "$1")" "$T/build/$(dirname "$1")"
	yes '' | head -n "$2" >"$T/$1"
	cp "$T/build/empty.o" "$T/build/${1%.c}.o"
}
pass() { # what
	if out=$("$LAYERS"); then echo "ok: $1"; else echo "FAILED: $1"$'\n'"$out" && bad=1; fi
}
# Exactly these violations, their keys; the text in brackets is not compared.
found() { # what, key...
	local what=$1 out
	shift
	out=$("$LAYERS") && out="(exit status 0)"
	if [ "$(sed 's/ (.*//' <<<"$out" | sort)" = "$(printf '%s\n' "$@" | sort)" ]; then
		echo "ok: $what"
	else
		echo "FAILED: $what"$'\n'"$out" && bad=1
	fi
}

mkdir -p "$T"/{tests,lib,build}
cp lib/README.md "$T/lib/"
${CC:-cc} -xc -c /dev/null -o "$T/build/empty.o" || exit 1
write bpf/steer.h <<<''
write lib/base/low.h <<<'int sl_low(void);'
write lib/base/low.c <<<'#include "base/low.h"
int sl_low(void) { return 1; }'
write lib/sock/core/mid.h <<<'#ifndef MID_H
#define MID_H
int sl_mid(void) __attribute__((cold));
struct mid { int (*sl_top)(void); };
#endif'
write lib/sock/core/mid.c <<<'#include "sock/core/mid.h"
#include "base/low.h"
#include "steer.h"
int sl_mid(void) { return sl_low(); }'
write lib/sock/call/top.h <<<'int sl_top(void);'
write lib/sock/call/top.c <<<'#include "sock/call/top.h"
#include "sock/core/mid.h"
int sl_top(void) { return sl_mid(); }'
write tools/tool.c <<<'#include "base/low.h"
int main(void) { return sl_low(); }'
write tests/look.c <<<'#include "sock/core/mid.h"'
write lib/net/d.c <<<'int sl_d(void) { return sl_e(); }'
write lib/net/e.c <<<'int sl_e(void) { return sl_d(); }'
echo "lib/net: e.c d.c # one machine" >"$T/tests/circles.txt"
write lib/base/long.h < <(yes '' | head -n 250)
empty lib/base/long.c 700
for i in {1..24}; do empty "lib/udp/u$i.c" 1; done
cp "$T/build/empty.o" "$T/build/lib/base/gone.o"
pass "a tree in order, a circle that is listed, an object without a source"

# Every rule broken, some of them twice.
write lib/sock/core/include.c <<<'#include "sock/call/top.h"'
write lib/base/include.c <<<'#include "sock/core/mid.h"'
write tools/include.c <<<'#include "sock/core/mid.h"'
write tests/include.c <<<'#include "none.h"'
write lib/sock/core/symbol.c <<<'int f(void) { return sl_top() + sl_none(); }'
write lib/base/symbol.c <<<'int g(void) { return sl_mid(); }'
write lib/base/a.c <<<'int sl_a(void) { return sl_b(); }'
write lib/base/b.c <<<'int sl_b(void) { return sl_c(); }'
write lib/base/c.c <<<'int sl_c(void) { return sl_a(); }'
write lib/base/mid.h <<<'static inline int h(void) { return 0; } int sl_mid(void);'
write lib/base/mid.c <<<'extern int sl_top(void);'
echo >>"$T/lib/base/long.h"
echo >>"$T/lib/base/long.c"
empty lib/udp/u25.c 1
write lib/attic/a.h <<<''
sed -i 's/^    base < base\/share/    base\/share < base/' "$T/lib/README.md"
found "includes, symbols, a circle, prototypes, sizes, the order" \
	"include lib/sock/core/include.c sock/call/top.h" "include lib/base/include.c sock/core/mid.h" \
	"include tools/include.c sock/core/mid.h" "include tests/include.c none.h" \
	"symbol lib/sock/core/symbol.c sl_top lib/sock/call/top.c" "symbol lib/sock/core/symbol.c sl_none" \
	"symbol lib/base/symbol.c sl_mid lib/sock/core/mid.c" "circle lib/base: a.c b.c c.c" \
	"prototype lib/base/mid.h sl_mid" "prototype lib/base/mid.c sl_top" "size lib/base/long.h" \
	"size lib/base/long.c" "size lib/udp" "order base < base/share < wire < io < net < tcp, udp < stack < sock" "order attic"

rm -r "$T"/{lib/base/include.c,lib/base/symbol.c,lib/base/mid.[ch],lib/base/[abc].c,lib/udp/u25.c,lib/attic} \
	"$T"/{lib/sock/core/include.c,lib/sock/core/symbol.c,tools/include.c,tests/include.c}
write lib/base/long.h < <(yes '' | head -n 250)
empty lib/base/long.c 700
cp lib/README.md "$T/lib/"
pass "the tree without these"
cat >"$T/tests/circles.txt" <<<'lib/net: d.c e.c u.c # it has shrunk
lib/net: f.c g.c'
found "circles that are listed, and are not there" "circle lib/net: d.c e.c" "circle lib/net: d.c e.c u.c" \
	"circle lib/net: f.c g.c" "circle lib/net: f.c g.c"

rm -r "$T/build/lib"
out=$("$LAYERS")
if [ $? = 1 ] && [[ $out == "no objects in build for "*" remedy: make"* ]]; then
	echo "ok: no objects"
else
	echo "FAILED: no objects"$'\n'"$out" && bad=1
fi
exit $bad
