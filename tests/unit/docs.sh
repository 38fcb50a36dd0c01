#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# README files and manual pages name what there is: each command, option, setting, source file and page
# that one of them names exists, and each that exists is named.
set -u
export LC_ALL=C
cd "$(dirname "$0")/../.." || exit 1
BUILD=${BUILD:-build}
DOCS=(README.md lib/README.md tools/*.[157] tools/sluiced/*.8 conf/*.[57] preload/*.7)

less() { comm -23 <(sort -u <<<"$1") <(sort -u <<<"$2") | grep .; } # names in the first, not in the second
say() { sed "s|^|FAILED: $1: |"; }
plain() { sed 's/\\f[BIRP]//g; s/\\-/-/g; s/\\&//g' "$@"; } # a page without its fonts
longs() { grep -oE '(^|[^-a-z])--[a-z][a-z_-]*' | grep -oE -- '--.*'; }

commands() {
	local c page source help
	for c in $("$BUILD/sluice" help | sed -n 's/^  \([a-z]*\) .*/\1/p'); do
		plain tools/sluice.1 | grep -qE "\bsluice $c\b" || echo "sluice $c" | say "not in sluice(1)"
		source=tools/$c.c page=tools/sluice-$c.1
		[ -e "$source" ] || continue
		[ -e "$page" ] || page=tools/sluiced/sluiced.8
		help=$("$BUILD/sluice" "$c" --help 2>&1 | longs)
		less "$help" "$(plain "$page" | longs)" | grep -vx -- --help | say "option of sluice $c, not in $page"
		less "$(sed -n 's/.*{"\([a-z_-]*\)", [a-z]*_argument.*/--\1/p' "$source")" "$help" | grep -vx -- --help |
			say "option of sluice $c, not in its --help"
	done
	less "$("$BUILD/sluiced" --help | longs)" "$(plain tools/sluiced/sluiced.8 | longs)" | say "option of sluiced, not in sluiced(8)"
}

settings() {
	less "$(cat "${DOCS[@]}" conf/sluice* conf/connectx-check conf/examples/* tools/*.c tools/*/*.c |
		grep -oE '\bSLUICE_[A-Z0-9_]+\b' | grep -vxE 'SLUICE_(VERSION|PREFIX)')" \
		"$(sed -n 's/^SL_SETTING([A-Z]*, \([a-z0-9_]*\),.*/SLUICE_\U\1/p' lib/base/settings.def)" | say "is no setting"
}

files() {
	local named path
	named=$(grep -oE '`[a-z0-9_]+\.(c|h|def|map)`' lib/README.md | tr -d '`')
	less "$(basename -a lib/*/*.c lib/*/*/*.c preload/*.c)" "$named" | say "not in lib/README.md"
	less "$named" "$(basename -a lib/* lib/*/* lib/*/*/* preload/* tools/*/* bpf/*)" | say "in lib/README.md, and no such file"
	grep -ohE '(^|[^/a-z])(tests|lib|preload|tools|conf|bpf)/[a-z0-9_./-]*[a-z0-9]' "${DOCS[@]}" | sed 's/^[^a-z]//' |
		while read -r path; do [ -e "$path" ] || echo "$path"; done | say "named, and no such file"
}

pages() {
	less "$(sed 's/^\.[BI]R \([^ ]*\) (\([1578]\)).*/\1(\2)/' "${DOCS[@]}" | plain | grep -oE '\bsluice[a-z.-]*\([1578]\)')" \
		"$(printf '%s\n' "${DOCS[@]}" | sed -n 's|.*/\(.*\)\.\([1578]\)$|\1(\2)|p')" | say "no such page"
}

"$BUILD/sluice" help | grep -q '^  run ' || { echo "FAILED: $BUILD/sluice does not list its commands"; exit 1; }
wrong=$(commands; settings; files; pages)
[ -z "$wrong" ] || { echo "$wrong"; exit 1; }
