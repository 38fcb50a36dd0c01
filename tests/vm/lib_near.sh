#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Lists, for lib_boot.sh, the machine's files that tests read again and again, with links and directories. The guest
# copies them into its memory before anything else. QEMU serves every other file; while all sleep in the guest and wait
# for QEMU, the guest's clock jumps from timer to timer (icount). On a busy machine a program's start then took a minute
# by that clock, and the other programs of the test had given up.
#
#   tests/vm/lib_near.sh BUILD
set -u
TOP=$(cd "$(dirname "$0")/../.." && pwd -P)
PATH=/usr/sbin:/usr/bin:/sbin:/bin
PROGRAMS="bash sh ip ss tc bridge ethtool nsenter unshare setpriv taskset timeout sysctl modprobe bpftool python3 nm
	mawk sed grep find cat head tail cut tr sort uniq wc tee od diff cmp seq sleep date env id basename dirname readlink
	mktemp mkdir rm ln cp mv ls touch chmod kill mount mountpoint dmesg stdbuf expr"

programs() {
	local p
	for p in $PROGRAMS; do type -P "$p"; done
	type -P awk
	find "$1" -maxdepth 1 \( -type f -perm -100 -o -name '*.so*' \)
	find "$1/tests/net" "$1/tests/bpf" -type f -perm -100
	find "$PYTHON/lib-dynload" -name '*.so'
}
libraries() { ldd "$@" 2>/dev/null | grep -o '/[^ ]*' | grep -v ':$' | sort -u; }
with_links() {
	local f
	while read -r f; do
		f=$(realpath "$(dirname "$f")")/$(basename "$f")
		echo "$f"
		while [ -L "$f" ]; do # (Debian's awk has two)
			cd "$(dirname "$f")" && f=$(readlink "$f")
			f=$(realpath "$(dirname "$f")")/$(basename "$f")
			echo "$f"
		done
	done
}
PYTHON=$(python3 -c 'import sysconfig; print(sysconfig.get_path("stdlib"))')
mapfile -t LIST < <(programs "$1")
{
	{ printf '%s\n' "${LIST[@]}" && libraries "${LIST[@]}"; } | with_links
	ls -d /etc/{ld.so.cache,passwd,group,nsswitch.conf,hosts,host.conf,gai.conf,services,protocols}
	find "$TOP/tests" /etc/iproute2 /usr/share/iproute2 -type f
	find "$PYTHON" -name 'test*' -prune -o -regex '.*/\(idlelib\|lib2to3\|tkinter\|ensurepip\|pydoc_data\|config-.*\)' -prune -o -name '*.pyc' -print -o -name '*.py' -print
} 2>/dev/null | awk -F/ '{ p = ""; for (i = 2; i <= NF; i++) { if (!seen[p = p $i]++) print p; p = p "/" } }'
