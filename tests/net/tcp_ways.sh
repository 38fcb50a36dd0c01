#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Two ways to the peer, the better one offloaded. The peer uses the other one, so that its segments come to a device
# that is the kernel's; then the offloaded device goes, and only the other is left. Connections with checked bytes both
# ways are handed back to the kernel: no byte is wrong, and none is reset.
. "$(dirname "$0")/lib_tcp.sh"
net_up
. "$(dirname "$0")/lib_swarm.sh"
guarded || skip "$GUARD_NOTE"
ip -n "${NS}a" addr add 192.0.2.1/32 dev lo
ip -n "${NS}b" addr add 192.0.2.2/32 dev lo
ip link add v$$e netns "${NS}a" type veth peer name v$$f netns "${NS}b"
DEV_E=v$$e DEV_F=v$$f
for vid in ${VLANS:-}; do
	vlan_up a "$DEV_E" "$vid" && vlan_up b "$DEV_F" "$vid"
	DEV_E=$DEV_E.$vid DEV_F=$DEV_F.$vid
done
addr_up a "$DEV_E" "$NET4.129/25" "$NET6:3::1/64"
addr_up b "$DEV_F" "$NET4.130/25" "$NET6:3::2/64"
ip -n "${NS}a" route add 192.0.2.2 via "$B4" metric 1
ip -n "${NS}a" route add 192.0.2.2 via "$NET4.130" metric 2
ip -n "${NS}b" route add 192.0.2.1 via "$A4" src 192.0.2.2 metric 1
ip -n "${NS}b" route add 192.0.2.1 via "$NET4.129" src 192.0.2.2 metric 2
SL_ENV=("SLUICE_TCP=1" "SLUICE_DEVICES=*,!v$$f")
a sysctl -qw net.ipv4.tcp_fastopen=3
b sysctl -qw net.ipv4.tcp_fastopen=3
# Connects with data in the SYN, whose answer comes to the other device.
fast_open() { # wait, poll or defer; taken, refused or either; bytes; [6]
	local to=$A4 way=("$B4/32" via "$NET4.130") bytes=$3
	[ -z "${4:-}" ] || to=$A6 way=("$B6/128" via "$NET6:3::2")
	WHAT="data with the SYN, the peer takes another way, $*"
	PORT=$((PORT + 1))
	rm -f "$TMP/go" "$TMP/go.ready"
	bg pa python3 "$TESTS/net/tcp_ways.py" serve "$to" $PORT >"$TMP/served"
	OTHER=$BG
	wait_tcp a $PORT
	bg pb timeout 60 python3 "$TESTS/net/tcp_ways.py" "${@:1:3}" "$to" $PORT "$TMP/go" >"$TMP/b" 2>&1
	SUBJECT=$BG
	wait_until 30 test -e "$TMP/go.ready" || fail "$WHAT: no cookie"
	[ "$2" = taken ] || a sysctl -qw net.ipv4.tcp_fastopen_key="$(printf '%08x-%08x-%08x-%08x' $PORT 1 2 3)"
	ip -n "${NS}a" route add "${way[@]}"
	touch "$TMP/go"
	ok "$WHAT: they are answered" wait_end "$SUBJECT" 90
	cat "$TMP/b"
	same "$WHAT: once" "6 bytes,6 bytes,$((bytes + 4)) bytes," "$(tr '\n' ',' <"$TMP/served")"
	ip -n "${NS}a" route del "${way[@]}"
	stop "$OTHER"
}
for MODE in $MODES; do
	# The peer uses the other way from the start: the answer to our SYN comes to the other device, too.
	WHAT="the peer takes another way from the start"
	ip -n "${NS}a" route add "$B4/32" via "$NET4.130"
	launch connect 4
	ok "$WHAT: the kernel's" has b $PORT -gt 0
	end
	WHAT="once more"
	bg a python3 "$TESTS/net/greeter.py" "$A4" $((PORT + 1))
	OTHER=$BG
	wait_tcp a $((PORT + 1))
	ok "$WHAT: without the wait" pb python3 -c "import socket, time
took = []
for i in range(2):
	begun = time.monotonic()
	assert socket.create_connection(('$A4', $PORT + 1)).recv(1) == b'x'
	took.append(time.monotonic() - begun)
print('%.3f s, then %.3f s' % tuple(took))
raise SystemExit(took[1] > took[0] / 4)"
	stop "$OTHER"
	PORT=$((PORT + 1))
	ip -n "${NS}a" route del "$B4/32"
	if [ "$MODE" = both ]; then
		fast_open wait either 400 # (the peer's kernel gets the SYN, which has a key of its own)
	else
		fast_open wait taken 400
		fast_open poll taken 1300
		fast_open defer refused 5000
		fast_open wait taken 1400 6
	fi
	[ "${ONLY:-}" != fast_open ] || continue
	# The other way round: the SYN comes by the offloaded device, and the answer leaves by the other.
	WHAT="we take another way from the start"
	ip -n "${NS}b" route add "$A4/32" via "$NET4.129"
	launch listen 4
	ok "$WHAT: the kernel's" has b $PORT -eq 8
	end
	ip -n "${NS}b" route del "$A4/32"
	# The peer's route has changed, ours has not: its segments come to a device that is the kernel's.
	for role in listen connect; do
		WHAT="the peer takes another way, $role"
		begin $role 4
		ok "$WHAT: done" ip -n "${NS}a" route add "$B4/32" via "$NET4.130"
		ok "$WHAT: they go to the kernel" wait_until 10 has b $PORT -gt 0
		end
		ip -n "${NS}a" route del "$B4/32"
	done
	# A peer whose connection no longer exists here (its server has died with its host, say) is told so on that way,
	# too.
	WHAT="a connection that is nobody's"
	PORT=$((PORT + 1))
	bg pb python3 -c "import socket, time
s = socket.create_server(('$B4', $PORT))
time.sleep(60)"
	SUBJECT=$BG
	wait_tcp b $PORT
	ip -n "${NS}a" route add "$B4/32" via "$NET4.130"
	ok "$WHAT: its peer is reset" a timeout 50 python3 -c "import socket
TCP_REPAIR = 19
s = socket.socket()
s.setsockopt(socket.IPPROTO_TCP, TCP_REPAIR, 1)
s.connect(('$B4', $PORT)) # (without a word to anybody)
s.setsockopt(socket.IPPROTO_TCP, TCP_REPAIR, 0)
try:
	s.send(b'x')
	s.recv(1)
except ConnectionResetError:
	raise SystemExit(0)
raise SystemExit(1)"
	ip -n "${NS}a" route del "$B4/32"
	stop "$SUBJECT"
	WHAT="device gone"
	FAR=192.0.2.1 begin connect 4
	ok "$WHAT: done" ip -n "${NS}b" link set "$DEV_B" down
	ip -n "${NS}a" link set "$DEV_A" down
	ok "$WHAT: they go to the kernel" wait_until 10 has b $PORT -gt 0
	end
	ip -n "${NS}b" link set "$DEV_B" up
	ip -n "${NS}a" link set "$DEV_A" up
	ip -n "${NS}b" route replace 192.0.2.1 via "$A4" src 192.0.2.2 metric 1
	ip -n "${NS}a" route replace 192.0.2.2 via "$B4" metric 1
done
done_testing
