#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# A device goes to another network namespace while a program has a claim on it, and comes back. Neither a program there
# nor the program here misses packets: the device keeps the steering program, but that steers nothing any more.
. "$(dirname "$0")/lib.sh"
net_up
OTHER=${NS}x # (another veth could have a lane's number there)
ip netns add "$OTHER"
MODE=one
claimed() { bpftool map dump pinned "/sys/fs/bpf/sluice/$DEV_B/endpoints" 2>/dev/null | grep -q "\"local_port\": $1"; }
offloaded() { # port
	bg pb "$BIN/echo" "$B4" "$1"
	echo=$BG
	wait_udp b "$1"
	ok "$1: the program is offloaded" wait_until 10 claimed "$1"
	bg a "$BIN/steady" -i 2000 "$B4" "$1" "$TMP/$1"
	ok "$1: it answers" wait_until 10 grows "$TMP/$1" 100
}
goes_to() { # namespace it is in, namespace
	ip -n "$1" link set "$DEV_B" netns "$2"
	ip -n "$2" addr add "$B4/24" dev "$DEV_B"
	ip -n "$2" link set "$DEV_B" up
}
more() { # port, seconds, what
	ok "$1: $3" wait_until "$2" grows "$TMP/$1" $(($(answered "$TMP/$1") + 100))
}

offloaded 7000
goes_to "${NS}b" "$OTHER"
goes_to "$OTHER" "${NS}b"
more 7000 10 "the program answers when the device is back"
stop "$echo"
ok "the device is left" wait_until 10 test ! -e "/sys/fs/bpf/sluice/$DEV_B" # (until then it is not offloaded anew)

offloaded 7001
goes_to "${NS}b" "$OTHER"
ip netns exec "$OTHER" "$BIN/echo" "$B4" 7001 &
there=$!
PIDS+=("$there")
more 7001 3 "a program answers where the device is now, before the one here has moved its sockets (some 5 s)"
stop "$there"
goes_to "$OTHER" "${NS}b"
more 7001 10 "the program answers when the device is back"
ip netns del "$OTHER"
done_testing
