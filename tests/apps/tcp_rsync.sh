#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# rsync's daemon: a child forked for each connection; a tree there and back, whole and by differences.
. "$(dirname "$0")/lib_tcp.sh"
need rsync
net_up
mkdir -p "$TMP/tree/sub" "$TMP/there"
for n in 0 1 1000 100000 5000000; do head -c "$n" /dev/urandom >"$TMP/tree/$n"; done
for i in $(seq 200); do echo "$i" >"$TMP/tree/sub/$i"; done
printf '%s\n' 'use chroot = no' 'uid = 0' 'gid = 0' '[tree]' "path = $TMP/there" 'read only = no' >"$TMP/rsyncd.conf"
words() { # address
	local to="rsync://$1:8730/tree" r=(rsync -a --timeout=20)
	rm -rf "$TMP/there" "$TMP/back"
	mkdir "$TMP/there"
	"${r[@]}" "$TMP/tree/" "$to/" && diff -r "$TMP/tree" "$TMP/there" && echo there
	"${r[@]}" "$to/" "$TMP/back/" && diff -r "$TMP/tree" "$TMP/back" && echo back
	printf 'changed' | dd of="$TMP/back/5000000" bs=1 seek=2500000 conv=notrunc status=none
	rm "$TMP/back/sub/7"
	"${r[@]}" --checksum --delete "$TMP/back/" "$to/" && diff -r "$TMP/back" "$TMP/there" && echo differences
	"${r[@]}" --list-only "$to/sub/" | wc -l
	"${r[@]}" "rsync://$1:8730/none/" "$TMP/none" 2>/dev/null
	echo "of none: $?"
}
export -f words
export TMP
for MODE in $MODES; do
	serve 8730 rsync --daemon --no-detach --port=8730 --config="$TMP/rsyncd.conf" --log-file="$TMP/rsync.log" || continue
	differ rsync4 pa bash -c 'words "$@"' - "$B4"
	differ rsync6 pa bash -c 'words "$@"' - "[$B6]"
	serve_end
done
done_testing
