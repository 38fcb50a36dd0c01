#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# The table of settings tells the truth: what it says works is read by the library, what it says has
# no effect is not, and the manual page is what the table makes.
set -u
cd "$(dirname "$0")/../.." || exit 1
BUILD=${BUILD:-build}
bad=0
sources=$(grep -rlE 'sl_settings|struct sl_settings' lib preload --include='*.c' --include='*.h' | grep -v 'base/settings\.')
# Read by settings.c alone, which turns them into others.
own="spec hugetbl ring ring_allocation_logic_tx tx_bufs rx_bufs"
while read -r field status; do
	if grep -qE "sl_settings(\.|->)$field\b" $sources; then used=1; else used=0; fi
	case " $own " in *" $field "*) used=1 ;; esac
	if [ "$status" = WORKS ] && [ $used = 0 ]; then
		echo "FAILED: $field is said to work, and nothing reads it"
		bad=1
	elif [ "$status" != WORKS ] && [ $used = 1 ]; then
		echo "FAILED: $field is read, and is said to have no effect"
		bad=1
	fi
done < <(perl -0ne 'print "$1 $2\n" while /SL_SETTING\(\w+, (\w+),.*?\n\s+(WORKS|LATER|ACCEPTED)/g' lib/base/settings.def)
n=$(grep -c '^SL_SETTING(' lib/base/settings.def)
[ "$n" -gt 100 ] || { echo "FAILED: found $n settings"; bad=1; }
if ! diff -u tools/sluice-settings.7 <("$BUILD/sluice" run --help-settings=man) >/dev/null; then
	echo "FAILED: tools/sluice-settings.7 is not what the table makes; remedy:"
	echo "        $BUILD/sluice run --help-settings=man >tools/sluice-settings.7"
	bad=1
fi
exit $bad
