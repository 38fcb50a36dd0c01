#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# net/sysctls.txt says of each setting of TCP, IP and sockets that this kernel has what it does to offloaded sockets, and
# what it calls followed is read by the library.
cd "$(dirname "$0")/../.." || exit 1
list=tests/net/sysctls.txt failed=0
bad() {
	echo "$1"
	failed=1
}
have() { awk -v n="$1" '$2 == n { found = 1 } END { exit !found }' $list; }
for f in /proc/sys/net/ipv4/tcp_* /proc/sys/net/ipv4/ip_*; do
	have "${f##*/}" || bad "$list has no line for ${f##*/}"
done
for room in ipv6 core; do
	for f in /proc/sys/net/$room/*; do
		[ -d "$f" ] || have "net.$room.${f##*/}" || bad "$list has no line for net.$room.${f##*/}"
	done
done
while read -r how name reason; do
	case $how in
	run | start) grep -rqwF "${name##*.}" lib --include=*.c || bad "nothing reads $name" ;;
	none) [ -n "$reason" ] || bad "$name has no effect, and no reason says why" ;;
	kernel) ;;
	'' | '#') ;;
	*) bad "$name: what is $how?" ;;
	esac
done < <(grep -v '^#' $list)
double=$(grep -v '^#' $list | awk 'NF { print $2 }' | sort | uniq -d)
[ -z "$double" ] || bad "twice: $double"
exit $failed
