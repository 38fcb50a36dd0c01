#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Checks that a room includes only what stands to its left in STYLE.md's order:
#   base < wire < io < net < tcp, udp < stack < sock < preload; ctl uses base and the BPF skeleton;
#   stack and what is above it may use ctl. steer.h is nobody's room: it is the ABI between the
#   steering program and whoever reads its records and maps.
set -u
cd "$(dirname "$0")/.." || exit 1

may() { # room: the rooms it may include from, beside itself
	case $1 in
	base) echo "" ;;
	wire) echo "base" ;;
	ctl) echo "base bpf" ;;
	io) echo "base wire" ;;
	net) echo "base wire io" ;;
	tcp | udp) echo "base wire io net" ;;
	stack) echo "base wire io net tcp udp ctl bpf" ;;
	sock) echo "base wire io net tcp udp stack ctl bpf top" ;;
	preload) echo "base sock top" ;;
	*) echo "(unknown room)" ;;
	esac
}

bad=0 checked=0
for f in lib/*/*.[ch] lib/*/*/*.[ch] preload/*.[ch]; do
	[ -e "$f" ] || continue
	room=${f#lib/}
	room=${room%%/*}
	while IFS=: read -r line inc; do
		inc=$(sed 's/.*"\(.*\)".*/\1/' <<<"$inc")
		case $inc in
		sluice.h) to=top ;;
		steer.h) continue ;;
		steer.skel.h | parse.bpf.h) to=bpf ;;
		*/*) to=${inc%%/*} ;;
		*) to=$room ;;
		esac
		checked=$((checked + 1))
		case " $room $(may "$room") " in
		*" $to "*) ;;
		*) echo "$f:$line: $room may not include $inc (it may: $(may "$room"))" && bad=1 ;;
		esac
	done < <(grep -n '^#[ ]*include[ ]*"' "$f")
done
[ $checked -gt 0 ] || { echo "no includes found: is this the right directory?"; exit 1; }
[ $bad = 0 ] && echo "layers: $checked includes, all downward"
exit $bad
