#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# A user puts a file of counters in another user's name where root's tools look: they show nothing of it, and by a second
# name of another user's file they change nothing there, nor end sockets that the program does not have.
. "$(dirname "$0")/lib.sh"
net_up
need python3 setpriv unshare
need_built
MODE=one
bg sb "$BIN/echo" "$B4" 7000
wait_udp b 7000
REAL=${SLUICE_STATS_SHMEM_DIR:-$TMP/stats}/sluice.$BG.stats
has_real() { "$BUILD/sluice" flow list 2>/dev/null | grep -q ":7000 "; }
wait_until 10 has_real || die "no counters"
cp "$REAL" "$TMP/like"
mkdir -p "$TMP/other"
chmod 755 "$TMP"
chmod 644 "$TMP/like"
cat >"$TMP/inside" <<'END'
set -e
mount -t tmpfs none /dev/shm
mount -t tmpfs none "$TMP/other"
holds() { # FILE: a process that has the file in its memory, in $!
	python3 -c 'import mmap, sys, time
f = open(sys.argv[1], "r+b"); f.truncate(4096); m = mmap.mmap(f.fileno(), 4096)
print("holds", flush=True); time.sleep(60)' "$1" >"$TMP/held" &
	until grep -q holds "$TMP/held"; do sleep 0.02; done
}
as() { setpriv --reuid="$1" --regid="$1" --clear-groups "${@:2}"; }
# The first directory and the first file of each file system have the same numbers there.
mkdir "$TMP/other/d"
: >"$TMP/other/d/f"
holds "$TMP/other/d/f"
P=$!
chmod 1777 /dev/shm
as 1001 mkdir /dev/shm/sluice-1001
as 1001 cp "$TMP/like" /dev/shm/sluice-1001/sluice.$P.stats
echo "same number $(($(stat -c %i "$TMP/other/d/f") == $(stat -c %i /dev/shm/sluice-1001/sluice.$P.stats)))"
echo "shown $("$BUILD/sluice" stat --list | grep -c "^ *$P ") $("$BUILD/sluice" flow list --pid "$P" | grep -c ":7000 ")"
# 1001's process shows 1002's file under its own number.
as 1002 mkdir /dev/shm/sluice-1002
as 1002 cp "$TMP/like" /dev/shm/sluice-1002/victim
chmod 666 /dev/shm/sluice-1002/victim # (only for the process to have it in its memory)
setpriv --reuid=1001 --regid=1001 --clear-groups python3 -c 'import mmap, time
f = open("/dev/shm/sluice-1002/victim", "r+b"); m = mmap.mmap(f.fileno(), 4096); print("holds", flush=True); time.sleep(60)' >"$TMP/held.q" &
Q=$!
until grep -qs holds "$TMP/held.q"; do sleep 0.02; done
chmod 600 /dev/shm/sluice-1002/victim
ln /dev/shm/sluice-1002/victim /dev/shm/sluice-1001/sluice.$Q.stats
"$BUILD/sluice" stat --pid "$Q" --log_level 5 >&2 || true
cmp -s "$TMP/like" /dev/shm/sluice-1002/victim && echo "unchanged"
kill $P $Q
END
out=$(env -u SLUICE_STATS_SHMEM_DIR TMP="$TMP" BUILD="$BUILD" unshare -m bash "$TMP/inside" 2>"$TMP/err")
same "neither false counters nor a change of another's" "same number 1
shown 0 0
unchanged" "$out"
# 1001's process says that it has a socket of root's, and root ends its sockets.
bg b python3 -c 'import os, socket, sys, time
s = socket.socket(socket.AF_INET, socket.SOCK_STREAM); s.bind((sys.argv[1], 7100)); s.listen()
print(os.fstat(s.fileno()).st_ino, flush=True); time.sleep(60)' "$B4" >"$TMP/inode"
wait_tcp b 7100
wait_until 10 test -s "$TMP/inode"
mkdir "$TMP/false"
chown 1001 "$TMP/false"
bg b setpriv --reuid=1001 --regid=1001 --clear-groups "$BIN/false_counters" "$TMP/false" "$TMP/like" "$(cat "$TMP/inode")" >"$TMP/ready"
wait_line "$TMP/ready" ready
b "$BUILD/sluice" flow kill --directory "$TMP/false" --all >"$TMP/kill" 2>&1
ok "it was asked to" grep -q "(echo)" "$TMP/kill"
same "root's socket is there still" 1 "$(b ss -Hltn "sport = :7100" | wc -l)"
[ $FAILED = 0 ] || cat "$TMP/err" "$TMP/kill"
done_testing
