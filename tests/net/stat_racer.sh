#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# A user's program writes rubbish into its file of counters while root's tools read it, and cuts it off: they print what
# there is, or say why not, and none dies or prints control characters.
. "$(dirname "$0")/lib.sh"
need python3 setpriv
net_up
need_built
MODE=one
bg pb "$BIN/echo" "$B4" 7000
wait_udp b 7000
file=$SLUICE_STATS_SHMEM_DIR/sluice.$BG.stats
ok "the program has counters" wait_until 10 test -s "$file"
mkdir "$TMP/evil" && chown 65534 "$TMP/evil" && chmod 755 "$TMP" "$TMP/evil"
cp "$file" "$TMP/good" && chmod 644 "$TMP/good"
bg b setpriv --reuid=65534 --regid=65534 --clear-groups python3 "$TESTS/net/stat_racer.py" "$TMP/good" "$TMP/evil" >"$TMP/racer" 2>&1
racer=$BG
wait_line "$TMP/racer" seed
say "$(cat "$TMP/racer")"
died="" control=0 lines=0
look() { # WORDS of the tool
	timeout 20 "$BUILD/sluice" "$@" >"$TMP/out" 2>"$TMP/err"
	local rc=$?
	[ $rc -lt 124 ] || died+="$* ($rc); "
	lines=$((lines + $(wc -l <"$TMP/out")))
	LC_ALL=C grep -q $'[\x01-\x08\x0b-\x1f\x7f]' "$TMP/out" "$TMP/err" && control=$((control + 1))
}
for ((i = 0; i < ${ROUNDS:-3}; i++)); do
	for v in 1 2 3 4 5; do look stat -k "$TMP/evil" -p "$racer" -F -c 1 -v $v; done
	look stat -k "$TMP/evil" -F --list
	look stat -k "$TMP/evil" -F -p "$racer" -S 0
	look stat -k "$TMP/evil" -F -p "$racer" --json
	look stat -k "$TMP/evil" -F --prometheus
	look top -b -n 1 -k "$TMP/evil"
done
same "no tool dies" "" "$died"
same "nor prints control characters" 0 $control
ok "they have read something ($lines lines)" test $lines -gt 100
ok "the racer lives" kill -0 "$racer"
done_testing
