#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# The Debian package: it is installed into a copy of this system, offloads a program there, alone and by the daemon with
# the policy that it brings, and is purged without a trace. `make deb` does the same with a build of its own.
RX=xdp # (the test looks at XDP programs)
. "$(dirname "$0")/lib.sh"
net_up
need python3 make dpkg-deb dpkg-shlibdeps
[ "$(id -u)" = 0 ] || skip "needs root"
unsanitized "a sanitizer's build is not installed"
MODE=one
PREFIX=$(cat "$BUILD/prefix" 2>/dev/null) || skip "nothing is built"
make -s -C "$TOP" install BUILD="${BUILD#"$TOP/"}" DESTDIR="$TMP/x" PREFIX="$PREFIX" >"$TMP/make" 2>&1 ||
	{ cat "$TMP/make"; die "make install fails"; }
mkdir "$TMP/tree"
mv "$TMP/x$PREFIX" "$TMP/tree/usr"
"$TOP/conf/deb/build.sh" "$TMP/tree" "$TMP" >"$TMP/make" 2>&1 || { cat "$TMP/make"; die "no package is made"; }
DEB=$(ls "$TMP"/sluice_*.deb)

same "it depends on libraries of the system" "libbpf1 libc6 libgcc-s1 libmnl0 libpcap0.8 libseccomp2 libxdp1" \
	"$(dpkg-deb -f "$DEB" Depends | tr ',' '\n' | sed 's/^ *//; s/ (.*//; s/t64$//' | sort | xargs)"
files=$(dpkg-deb -c "$DEB" | awk '{ print $6 }')
for file in usr/bin/sluice usr/bin/sluiced usr/bin/vma_stats usr/bin/mlnx_qos usr/bin/tc_wrap usr/lib/libsluice-preload.so usr/lib/libsluice.so.1 \
	usr/include/sluice.h usr/lib/pkgconfig/sluice.pc usr/lib/systemd/system/sluiced.service etc/sluice/sluiced.conf \
	etc/sluice/sluice.conf usr/share/bash-completion/completions/sluice usr/share/man/man1/vma_stats.1.gz usr/share/man/man1/mlnx_qos.1.gz \
	usr/share/man/man8/sluiced.8.gz usr/share/doc/sluice/copyright; do
	ok "it has $file" grep -qx "./$file" <<<"$files"
done
ok "all of it is root's" not grep -qv ' root/root ' <(dpkg-deb -c "$DEB")

version=$(sed -n 's/.*SLUICE_VERSION "\(.*\)"/\1/p' "$TOP/lib/sluice.h")
# In a mount namespace of its own, on a copy of the system that is gone with it.
cat >"$TMP/inner" <<'EOF'
set -eu
deb=$1 tmp=$2 addr=$3 version=$4
mkdir "$tmp/m"
mount -t tmpfs none "$tmp/m" || exit 77
mkdir "$tmp/m/up" "$tmp/m/work" "$tmp/m/root"
mount -t overlay overlay -o "lowerdir=/,upperdir=$tmp/m/up,workdir=$tmp/m/work" "$tmp/m/root" || exit 77
cd "$tmp/m/root"
for dir in proc sys dev tmp; do mount --rbind "/$dir" "$dir"; done
mount -t tmpfs none run
inside() { chroot . env PATH=/usr/sbin:/usr/bin:/sbin:/bin "$@"; }
if inside dpkg-query -s sluice >/dev/null 2>&1; then inside dpkg --no-triggers -P sluice >/dev/null; fi
inside dpkg --no-triggers -i "$deb" >"$tmp/dpkg" 2>&1 || { cat "$tmp/dpkg"; exit 1; }
inside ldconfig
echo "installed: $(inside dpkg-query -W -f '${db:Status-Status}' sluice)"
echo "changed files: $(inside dpkg -V sluice | xargs)"
echo "unit: $(inside systemd-analyze verify /usr/lib/systemd/system/sluiced.service 2>&1 | grep -i sluiced | head -n 3 | xargs)"
echo "library: $(inside pkg-config --libs "sluice = $version" 2>&1 | xargs)"
echo "rules: $(inside sluice rule test --file /etc/sluice/sluice.conf udp_connect 192.0.2.1:53 2>&1 | xargs)"
echo "completes: $(inside bash -c '. /usr/share/bash-completion/completions/sluice
	complete_it() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=(); _sluice 2>/dev/null; echo "${COMPREPLY[*]}"; }
	complete_it sluice do; complete_it sluice flow hand; complete_it sluice stat --prom; complete_it sluice run SLUICE_RX_BA;
	complete_it vma_stats --prom' | xargs)"
udp='
import os, socket, sys, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind((sys.argv[1], 7000))
for line in os.popen("sluice stat --list"):
    if str(os.getpid()) in line:
        print("offloaded,", "XDP" if "prog/xdp" in os.popen("ip -d link").read() else "no XDP", end=" ")
for line in os.popen("sluice daemon leases 2>/dev/null"):
    if str(os.getpid()) in line.split():
        print("with a lease")'
echo "alone: $(inside sluice run -- python3 -c "$udp" "$addr" 2>"$tmp/alone")"
inside sluiced >"$tmp/daemon" 2>&1 &
daemon=$!
for _ in $(seq 100); do [ ! -S run/sluice/sluiced.sock ] || break; sleep 0.1; done
echo "by the daemon: $(inside sluice run -- python3 -c "$udp" "$addr" 2>"$tmp/by")"
kill $daemon
wait $daemon || true
inside dpkg --no-triggers -r sluice >"$tmp/dpkg" 2>&1
echo "removed, kept: $(cd etc/sluice && ls | xargs)"
inside dpkg --no-triggers -P sluice >"$tmp/dpkg" 2>&1
echo "purged, kept: $(cd ../up && find . ! -type d ! -type c ! -path './var/lib/dpkg/*' ! -path './var/cache/*' ! -name 'dpkg.log' \
	! -path './etc/ld.so.cache' | xargs)"
EOF
b unshare -m bash "$TMP/inner" "$DEB" "$TMP" "$B4" "$version" >"$TMP/out" 2>"$TMP/err"
case $? in
0) ;;
77) skip "no overlay of the system can be mounted: $(tail -n 1 "$TMP/err")" ;;
*) fail "the installed package: $(cat "$TMP/err")" ;;
esac
same "it is installed, works, and is purged without a trace" "installed: installed
changed files:
unit:
library: -lsluice
rules: /etc/sluice/sluice.conf: os, by 1 use os udp_connect *:53 (line 21)
completes: doctor hand-back --prometheus SLUICE_RX_BACKEND= --prometheus
alone: offloaded, XDP
by the daemon: offloaded, XDP with a lease
removed, kept: sluice.conf sluiced.conf
purged, kept:" "$(sed 's/[ \t]*$//' "$TMP/out")"
done_testing
