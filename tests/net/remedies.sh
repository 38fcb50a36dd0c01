#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# The troubles that VMA's manual lists (8.3) each have a message and its remedy here, and a place in
# sluice-troubleshooting(7).
. "$(dirname "$0")/lib.sh"
need python3 setpriv prlimit
need_built
net_up
MODE=one
sed 's/\\-/-/g; s/^\.BR* //; s/"//g' "$TOP/conf/sluice-troubleshooting.7" >"$TMP/page"
paged() { # text
	ok "sluice-troubleshooting(7): $1" grep -qF -e "$1" "$TMP/page"
}
talk() { # a command before it...: a program that is offloaded, or would be
	rm -f "$TMP"/sluice.*.log
	sb "$@" python3 -c '
import socket, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind((sys.argv[1], 5555))
s.connect((sys.argv[2], 7000))
try:
	s.setsockopt(socket.IPPROTO_IP, 39, socket.inet_aton("232.1.2.3") + socket.inet_aton(sys.argv[1]) + socket.inet_aton(sys.argv[2]))
except OSError: # IP_ADD_SOURCE_MEMBERSHIP of a connected socket
	pass
s.send(b"x")' "$B4" "$A4" >/dev/null 2>&1
	cat "$TMP"/sluice.*.log >"$TMP/log"
}
said() { ok "$1" grep -q -e "$2" "$TMP/log"; }

SL_ENV=(SLUICE_TRACELEVEL=4)
talk env
said "high log level" "the log level is high: .*(SLUICE_TRACELEVEL=3)"
paged "the log level is high"

SL_ENV=(SLUICE_TRACELEVEL=3)
talk env
ok "not at the default" not grep -q "log level is high" "$TMP/log"

mkdir "$TMP/alone"
cp "$BUILD/sluice" "$TMP/alone/"
ok "the library cannot be preloaded" not b "$TMP/alone/sluice" run true 2>"$TMP/err"
ok "it is said where it was looked for, and the remedy" grep -q "neither beside this program nor in ../lib.*make install" \
	<(tr '\n' ' ' <"$TMP/err")
ok "as by ld.so" grep -q "^ERROR: ld.so: object '/none/libsluice-preload.so' from LD_PRELOAD cannot be preloaded.*: ignored" \
	<(LD_PRELOAD=/none/libsluice-preload.so /bin/true 2>&1)
paged "from LD_PRELOAD cannot be preloaded: ignored"
paged "libsluice-preload.so is neither beside this program nor in ../lib"

mkdir -m 755 "$TMP/roots"
if setpriv --reuid=65534 --regid=65534 --clear-groups test -r "$TOP/Makefile" -a -x "$TOP"; then
	setpriv --reuid=65534 --regid=65534 --clear-groups make -s -C "$TOP" install PREFIX="$TMP/roots" DESTDIR= >"$TMP/err" 2>&1
	same "no installation without privileges" 2 $?
	ok "which says the remedy" grep -q "$TMP/roots.* may not be written.*remedy: sudo make install" "$TMP/err"
fi
paged "make install: DIR may not be written by this user"

SL_ENV=(SLUICE_RX_BACKEND=xdp)
case $BUILD in *san*) ;; *)
	talk prlimit --memlock=65536:65536 setpriv --bounding-set=-ipc_lock,-sys_resource \
		--inh-caps=-ipc_lock,-sys_resource
	said "locked memory" "locked memory is limited; remedy: ulimit -l unlimited"
	;;
esac
paged "locked memory is limited"

case $BUILD in *san*) ;; *)
	SL_ENV=(SLUICE_RX_BACKEND=xdp SLUICE_LOG_FILE="$TMP/plain")
	: >"$TMP/plain" && chmod 666 "$TMP/plain"
	talk setpriv --reuid=65534 --regid=65534 --clear-groups
	ok "no privileges: the device, the reason, the remedy" grep -qE \
		"WARNING: port: $DEV_B stays with the kernel: no permission .*remedy: start sluiced\(8\)" "$TMP/plain"
	;;
esac
paged "no permission for AF_XDP sockets"

b sysctl -qw "net.ipv4.conf.$DEV_B.force_igmp_version=2"
SL_ENV=(SLUICE_TRACELEVEL=3)
talk env
said "IGMP version" "held to IGMPv2.*force_igmp_version=0"
b sysctl -qw "net.ipv4.conf.$DEV_B.force_igmp_version=0"
paged "is held to IGMPv1; is held to IGMPv2"

b ip tuntap add tun9 mode tun 2>/dev/null && b ip link set tun9 up &&
	ok "a device that is not Ethernet, as IPoIB" grep -q "stays with the kernel: it is not an Ethernet device" \
		<(b "$BUILD/sluice" doctor tun9 2>&1)
paged "it is not an Ethernet device"
paged "UMCAST"

exec 9>/tmp/sluice-tests.huge # (huge_pages.sh reserves some for a moment)
flock 9
if [ "$(cat /proc/sys/vm/nr_hugepages)" = 0 ]; then
	for s in SLUICE_MEM_ALLOC_TYPE=2 VMA_HUGETBL=1; do
		SL_ENV=($s)
		# (PR_SET_THP_DISABLE: nor transparent ones)
		talk python3 -c 'if 1:
			import ctypes, os, sys
			ctypes.CDLL(None).prctl(41, 1, 0, 0, 0)
			os.execvp(sys.argv[1], sys.argv[1:])'
		said "huge pages, $s" "no huge pages for [0-9]* MB.*using ordinary pages; remedy: sysctl vm.nr_hugepages=[1-9]"
	done
fi
paged "no huge pages for N MB of packet memory, using ordinary pages"
done_testing
