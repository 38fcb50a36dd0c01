#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# A device changes under programs that the daemon serves: link, MTU, queues, the steering program taken off or replaced
# by another's, the device gone and back, in another namespace and back. Connections survive where the device stays,
# programs that start meanwhile work, and the daemon says what is the matter.
RX=xdp # (the test looks at XDP programs and sockets)
. "$(dirname "$0")/lib_lease.sh"
need python3 ethtool
lease_up -q 2
one_queue() {
	a ethtool -L "$DEV_A" rx 1 tx 1
	b ethtool -L "$DEV_B" rx 1 tx 1
} >/dev/null 2>&1
one_queue
said_twice() { [ "$(grep -c "$DEV_B.*is gone" "$TMP/sluice.db.log")" = 2 ]; }
said() { file_has "$TMP/sluice.db.log" "$1"; }
told() { [ "$(cat "$TMP"/sluice.[0-9]*.log | grep -c "$2")" = "$1" ]; } # true: so many programs have logged that
told_once() { grep -q "$1" "$TMP"/sluice.[0-9]*.log; } # true: a program has
answered() {
	local n=0
	{ read -r n <"$TMP/tcp.$1"; } 2>/dev/null
	COUNT=${n:-0}
	echo "$COUNT"
}
grows() { answered "$1" >/dev/null && [ "$COUNT" -ge "$2" ]; }
goes_on() { # what, programs...
	local what=$1 p
	shift
	for p; do
		ok "$what: $p goes on" wait_until 20 grows "$p" $(($(answered "$p" | tr -dc 0-9) + 20))
	done
}
member() { # port
	bg sb "$BIN/member" "$B4" "$1"
	MEMBER=$BG
	wait_tcp b "$1"
}
talk() { # port
	rm -f "$TMP/tcp.$1"
	bg a python3 "$TESTS/net/lease_change.py" "$B4" "$1" "$TMP/tcp.$1"
	wait_until 20 grows "$1" 1 || { fail "port $1: no connection: $(answered "$1")"; return 1; }
}
kernel_segs() { b awk '$1 == "Tcp:" && $2 != "RtoAlgorithm" { print $11 }' /proc/net/snmp; }
bypasses() { # asserts that (almost) no segment goes through the kernel
	local n
	n=$(kernel_segs)
	goes_on "$1" 7001 7002
	n=$(($(kernel_segs) - n))
	ok "$1: not by the kernel ($n)" test $n -le 10
}
past_kernel() {
	local n
	n=$(kernel_segs)
	sleep 0.5
	[ $(($(kernel_segs) - n)) -le 3 ]
}
restore() { # addresses of b
	ip -n "${NS}b" link set "$DEV_B" up
	addr_up b "$DEV_B" "$B4/24" "$B6/64" 2>/dev/null
	wait_until 10 link_is_up b "$DEV_B"
}
two_up() {
	local p
	for p in 7001 7002; do
		member $p
		eval "M$p=$MEMBER"
		wait_until 20 has_claim $p || fail "$p is not offloaded"
		talk $p
	done
}
no_lease() { [ "$(daemon leases | wc -l)" = 1 ]; }
two_down() {
	kill "$M7001" "$M7002" 2>/dev/null
	wait "$M7001" "$M7002" 2>/dev/null
	wait_until 20 no_lease
}

two_up
bypasses "at first"
ip -n "${NS}b" link set "$DEV_B" down
sleep 0.5
restore
bypasses "link down and up"
mtu_is() { [ "$(daemon ports | awk -v d="$DEV_B" '$1 == d { print $4 }')" = "$1" ]; }
ip -n "${NS}b" link set "$DEV_B" mtu 1300
ok "a smaller MTU is shown" wait_until 5 mtu_is 1300
ip -n "${NS}b" link set "$DEV_B" mtu 1500
ip -n "${NS}a" link set "$DEV_A" mtu 1300
ip -n "${NS}b" link set "$DEV_B" mtu 1300
bypasses "a smaller MTU on both ends"
ip -n "${NS}a" link set "$DEV_A" mtu 1500
ip -n "${NS}b" link set "$DEV_B" mtu 1500
bypasses "the MTU of before"

if b ethtool -L "$DEV_B" rx 2 tx 2 2>/dev/null; then
	goes_on "two queues" 7001 7002
	ok "the programs say what has changed" wait_until 5 told 2 "$DEV_B: the number of its queues was changed: traffic"
	ok "the daemon, too" wait_until 5 said "$DEV_B: the number of its queues was changed"
	ok "and not that anything was taken off" told 0 "taken off"
	b ethtool -L "$DEV_B" rx 1 tx 1 2>/dev/null
	goes_on "one queue" 7001 7002
fi

# The steering program is taken off: running programs go to the kernel, and come back when it is attached again.
two_down
two_up
b ip link set dev "$DEV_B" xdp off
goes_on "the steering program is taken off" 7001 7002
ok "and said" wait_until 5 said "$DEV_B: .*taken off"
member 7003
m3=$MEMBER
talk 7003
goes_on "a program that comes then" 7003
kill "$m3" # (its connection may stay with the kernel: no device could be used when it began)
ok "they are past the kernel again" wait_until 20 past_kernel
bypasses "when it is attached again"
two_down
two_up

# Another XDP program is attached in its place.
b ip -force link set dev "$DEV_B" xdp obj "$BIN/pass.bpf.o" sec xdp
goes_on "another program in its place" 7001 7002
ok "a program says that it is another" wait_until 5 told_once "$DEV_B: another XDP program"
ok "the daemon, too: another" wait_until 5 said "$DEV_B: another XDP program"
b ip link set dev "$DEV_B" xdp off
two_down
two_up
bypasses "who comes when that one has gone"

# The device is deleted, and another one of that name is made: running programs go on, new ones are offloaded.
ip -n "${NS}b" link del "$DEV_B"
ok "a device that is gone is told" wait_until 5 said "$DEV_B.*is gone"
join a b "$DEV_A" "$DEV_B" 2 1500
one_queue
addr_up a "$DEV_A" "$A4/24" "$A6/64"
restore
goes_on "the device gone and back" 7001 7002
two_down
two_up
bypasses "who comes to the new one"

# The device moves to another namespace, and back.
ip -n "${NS}b" link set "$DEV_B" netns "${NS}a"
ok "one that has moved is told" wait_until 5 said_twice
ip -n "${NS}a" link set "$DEV_B" netns "${NS}b"
restore
two_down
two_up
bypasses "who comes after that"
same "no reader of the log was flooded" "" "$(sed 's/[0-9]//g' "$TMP/sluice.db.log" | sort | uniq -c | awk '$1 > 40')"
done_testing
