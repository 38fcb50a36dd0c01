#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# The library trusts only its user: set-user-ID programs and others with more rights than their user run without it,
# files and directories of others are not used, nor is another user's daemon, and a program's name cannot write control
# characters to a terminal.
. "$(dirname "$0")/lib.sh"
need python3 setpriv unshare mount
net_up
MODE=one
chmod 755 "$TMP"
PY=$TESTS/net/secure.py
LIBRARY=$(readlink -f "$BUILD/libsluice.so")
AS=(setpriv --reuid=65534 --regid=65534 --clear-groups)
alone() { b unshare -m bash -c "$@"; } # script, $0, arguments: with mounts of its own

# A set-user-ID copy of the interpreter, and the library preloaded into every program.
cp "$(readlink -f "$(command -v python3)")" "$TMP/plain"
cp "$TMP/plain" "$TMP/setuid"
chmod 4755 "$TMP/setuid"
mkdir -m 777 "$TMP/files"
everywhere() { # program arguments: by nobody
	alone 'cp -a /etc "$0/etc" && readlink -f "$1" >"$0/etc/ld.so.preload" && mount --bind "$0/etc" /etc && shift &&
		exec "$@"' "$TMP" "$PRELOAD" "${AS[@]}" env SLUICE_DAEMON=off "SLUICE_LOG_FILE=$TMP/files/log" \
		"SLUICE_STATS_SHMEM_DIR=$TMP/files" "SLUICE_STATS_FILE=$TMP/files/stats" "$@"
	rm -rf "$TMP/etc"
}
case $(basename "$BUILD") in
*san*) ;; # (the sanitizer wants to be the first library, and ends programs that are secure)
*)
	same "a program of the user's has the library" "$LIBRARY" "$(everywhere "$TMP/plain" "$PY" socket)"
	ok "which writes what it was told to" test -s "$TMP/files/log"
	rm -f "$TMP"/files/*
	same "a set-user-ID one has not" none "$(everywhere "$TMP/setuid" "$PY" socket)"
	same "and writes nothing" "" "$(ls "$TMP/files")"
	;;
esac

# A relative path of the library, and a directory with another one.
mkdir "$TMP/elsewhere"
echo rubbish >"$TMP/elsewhere/libsluice.so.1"
moved() { (cd "$BUILD" && in_ns sb env "LD_PRELOAD=${LD_PRELOAD_FIRST:+$LD_PRELOAD_FIRST:}./libsluice-preload.so" python3 "$PY" moved "$TMP/elsewhere"); }
case $(basename "$BUILD") in
*san*) ;;
*) same "a library preloaded by a relative path finds the other beside it" "$LIBRARY" "$(moved)" ;;
esac

# Where counters are, when nobody says so. (/run and /dev/shm are the test's own.)
cat >"$TMP/counters" <<'END'
mount -t tmpfs -o mode=755 none /run && mount -t tmpfs -o mode=1777 none /dev/shm || exit 1
PY=$1 SLUICE=$2
shift 2
wait_for() { for _ in $(seq 100); do [ -s "$1" ] && return; sleep 0.1; done; }
exec 8<>/dev/null
mkfifo /run/in && chmod 666 /run/in && exec 9<>/run/in
env "$@" python3 "$PY" wait $'\e[2Jred' </run/in >/run/out &
wait_for /run/out
echo "root: $(stat -c '%U %a %n' /run/sluice/0) $(ls /run/sluice/0 | sed 's/[0-9]\+/N/')"
echo "list: $(env -u SLUICE_STATS_SHMEM_DIR SLUICE_STATS_SHMEM_DIR=auto "$SLUICE" stat --list | grep -o '?.*red')"
kill $!; wait $! 2>/dev/null
as() { setpriv --reuid=65534 --regid=65534 --clear-groups "$@"; }
as env "$@" python3 "$PY" wait plain </run/in >/dev/shm/out 2>/dev/null &
wait_for /dev/shm/out
echo "nobody: $(stat -c '%U %a %n' /dev/shm/sluice-65534) $(ls /dev/shm/sluice-65534 | sed 's/[0-9]\+/N/')"
kill $!; wait $! 2>/dev/null
rm -rf /dev/shm/sluice-65534 /dev/shm/out; mkdir -m 777 /dev/shm/sluice-65534
as env "$@" python3 "$PY" wait plain </run/in >/dev/shm/out 2>/dev/null &
wait_for /dev/shm/out
echo "somebody else's: $(ls /dev/shm/sluice-65534 | wc -l)"
kill $!; wait $! 2>/dev/null
END
mapfile -t pre < <(preload_env b)
pre+=("SLUICE_STATS_SHMEM_DIR=auto" SLUICE_DAEMON=off)
alone 'exec bash "$0" "$@"' "$TMP/counters" "$PY" "$BUILD/sluice" "${pre[@]}" >"$TMP/counted" 2>"$TMP/counted.err"
line() { sed -n "s/^$1: //p" "$TMP/counted"; }
same "root's counters" "root 700 /run/sluice/0 sluice.N.stats" "$(line root)"
same "a name with control characters is shown without" "?[2Jred" "$(line list)"
same "a user's counters" "nobody 700 /dev/shm/sluice-65534 sluice.N.stats" "$(line nobody)"
same "a directory that somebody else made is not used" 0 "$(line "somebody else's")"

# Directories in bpffs, where any user can make some: nobody else can lock the library's, nor keep them from it. (Without
# a limit a lock would hold up libxdp's too.)
cat >"$TMP/pins" <<'END'
mount -t bpf -o mode=1777 bpf /sys/fs/bpf || exit 1
dir=/sys/fs/bpf/sluice held=
as() { setpriv --reuid=65534 --regid=65534 --clear-groups "$@"; }
run() { timeout 60 env "$@" "SLUICE_LOG_FILE=$TMP/log" SLUICE_TRACELEVEL=info python3 -c 'import socket, sys; socket.socket(type=socket.SOCK_DGRAM).bind((sys.argv[1], 7000))' "$B4"; }
lock() { # DIR: by nobody, until this is over
	as flock -n "$1" sh -c 'echo locked >"$0"; exec sleep 1000' "$TMP/$2" 2>/dev/null &
	held="$held $!"
	for _ in $(seq 20); do [ -s "$TMP/$2" ] && echo "$2: locked" && return; kill -0 $! 2>/dev/null || break; sleep 0.05; done
	echo "$2: refused"
}
B4=$1 TMP=$2
shift 2
run "$@"
echo "made: $(stat -c '%U %a' $dir)"
lock $dir own
rmdir $dir
as mkdir -m 755 $dir /sys/fs/bpf/xdp
lock $dir foreign
run "$@"
echo "dirs: $(stat -c '%U %a' $dir)"
echo "libxdp: $(stat -c %U /sys/fs/bpf/xdp)"
rmdir $dir
as ln -s "$TMP/files" $dir
run "$@"
echo "link: $(stat -c '%U %F' $dir)"
rmdir $dir
as mkdir -p $dir/full
run "$@"
kill $held 2>/dev/null
END
rm -f "$TMP"/files/*
alone 'exec bash "$0" "$@"' "$TMP/pins" "$B4" "$TMP/files" "${pre[@]}" >"$TMP/pinned" 2>"$TMP/pinned.err"
pin() { sed -n "s/^$1: //p" "$TMP/pinned"; }
same "nobody can lock the directory of pins" "root 711 refused" "$(pin made) $(pin own)"
same "one that nobody made and locked is replaced" "locked root 711" "$(pin foreign) $(pin dirs)"
[ "${RX:-}" != xdp ] || same "as is libxdp's" root "$(pin libxdp)"
same "as is a link" "root directory" "$(pin link)"
same "each time the maps are pinned" 3 "$(grep -c 'pinned at' "$TMP/files/log")"
same "a full one is not used, which the log says" 1 "$(grep -c "another user's directory" "$TMP/files/log")"

# A daemon of another user's.
mkdir -m 777 "$TMP/foreign"
cat >"$TMP/foreign.py" <<'END'
import os, select, socket, sys
os.setgid(1234); os.setuid(1234)
l = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
l.bind(sys.argv[1]); os.chmod(sys.argv[1], 0o777); l.listen(5)
print("ready", flush=True)
while True:
    c, _ = l.accept()
    r, _, _ = select.select([c], [], [], 5)
    print("told" if r and c.recv(4096) else "left", flush=True)
END
bg b python3 "$TMP/foreign.py" "$TMP/foreign/sock" >"$TMP/foreign/out"
wait_line "$TMP/foreign/out" ready
rm -f "$TMP"/sluice.*.log
believes() {
	b env "${pre[@]}" "SLUICE_DAEMON=$TMP/foreign/sock" "SLUICE_LOG_FILE=$TMP/foreign/log" SLUICE_STATS_SHMEM_DIR= \
		"${AS[@]}" python3 "$PY" socket >/dev/null
}
believes
wait_line "$TMP/foreign/out" left
ok "a daemon of another user is told nothing" test "$(grep -c told "$TMP/foreign/out")" = 0
same "and that is said once" 1 "$(grep -c 'neither root nor this user' "$TMP/foreign/log")"
done_testing
