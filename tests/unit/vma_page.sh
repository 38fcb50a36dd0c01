#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# sluice-vma(7) is true of the settings: the defaults that it gives are theirs, and it lists those without effect.
set -u
export LC_ALL=C
cd "$(dirname "$0")/../.." || exit 1
PAGE=conf/sluice-vma.7
DEF=lib/base/settings.def

says() { # NAME: its default here, as the page's table has it
	sed -n '/^variable|/,/^\.TE/p' "$PAGE" | sed 's/\\-/-/g; s/|empty|/||/' | awk -F'|' -v n="$1" '$1 == n { print $3 }'
}
is() { # NAME: its default
	sed -n "s/^SL_SETTING([A-Z]*, ${1,,}, \"\{0,1\}\([^,\"]*\)\"\{0,1\},.*/\1/p" "$DEF"
}
rows=$(sed -n '/^variable|/,/^\.TE/p' "$PAGE" | sed '1d;$d;s/|.*//')
[ "$(wc -l <<<"$rows")" -gt 5 ] || { echo "FAILED: $PAGE has no table of defaults"; exit 1; }
wrong=$(for n in $rows; do
	grep -q "^SL_SETTING([A-Z]*, ${n,,}," "$DEF" || echo "FAILED: $n is no setting"
	[ "$(says "$n")" = "$(is "$n")" ] || echo "FAILED: $n: the page has $(says "$n"), the default is $(is "$n")"
done)
other() { # names of settings whose help gives another default of VMA's
	awk '/^SL_SETTING/ { n = toupper($2) } !/^\t/ { next } /\(libvma: |\(VMA: |VMA has [0-9]/ { print n }' "$DEF" | tr -d , | sort -u
}
wrong+=$(comm -23 <(other) <(sort <<<"$rows") | sed 's/^/FAILED: another default than VMA has, and not in the table: /')
without() { # names of settings without effect
	awk '/^SL_SETTING/ { n = $2 } /^\t *ACCEPTED,/ { print toupper(n) }' "$DEF" | tr -d , | sort
}
listed() { sed -n '/^These are accepted/,/^\.fi/p' "$PAGE" | grep -v '^[.]' | grep -oE '\b[A-Z0-9]{2,}(_[A-Z0-9]+)*\b' | sort; }
wrong+=$(diff <(without) <(listed) | sed -n 's/^</\nFAILED: not listed:/p; s/^>/\nFAILED: has an effect:/p')
[ -z "$wrong" ] || { echo "$wrong"; exit 1; }
