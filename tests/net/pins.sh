#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Devices of one name in two network namespaces, as any two containers have them, with a dot in it, which bpffs
# does not take: the maps of both are pinned, each can be read, and nothing is left of them. The same when the
# first's process has a number that the second cannot know, in a PID namespace.
. "$(dirname "$0")/lib.sh"
need bpftool
TOOL=$BUILD/sluice
need_built
net_up
MODE=both
NAME=v$$a.5
for host in a b; do
	dev=DEV_${host^^}
	ip -n "$NS$host" link set "${!dev}" down
	ip -n "$NS$host" link set "${!dev}" name "$NAME"
	printf -v "$dev" %s "$NAME"
done
for host in a b; do ip -n "$NS$host" link set "$NAME" up; done
ip -n "${NS}a" addr replace "$A6/64" dev "$NAME" nodad # (which went with the link)
ip -n "${NS}b" addr replace "$B6/64" dev "$NAME" nodad
wait_until 10 link_is_up b "$NAME" || die "the link does not come up"
PINS=/sys/fs/bpf/sluice/${NAME/./:}
netns_of() { "$1" stat -Lc %i /proc/self/ns/net; }
field() { bpftool map dump pinned "$1/config" 2>/dev/null | sed -n "s/.*\"$2\": \([0-9]*\).*/\1/p"; }
SECOND=$PINS:$(netns_of a)
second() {
	bg sa "$BIN/steady" -i 1000 -n 1000000 "$B4" 7000 "$TMP/steady"
	client=$BG
}
both() { # PID of the first namespace's program
	bg sb "$@" "$BIN/echo" "$B4" 7000
	server=$BG
	wait_udp b 7000
	ok "the first's maps are pinned" wait_until 20 test -e "$PINS/flows"
	second
	ok "the second's maps are pinned" wait_until 20 test -e "$SECOND/flows"
	same "the first's are of its namespace" "$(netns_of b)" "$(field "$PINS" netns)"
	same "the second's are of its own" "$(netns_of a)" "$(field "$SECOND" netns)"
}
is_seconds() { [ "$(field "$PINS" netns)" = "$(netns_of a)" ]; }
both
same "nobody says that they could not be pinned" "" "$(grep -h "are not pinned" "$TMP"/sluice.*.log)"
ok "sluice rule finds the first" b "$TOOL" rule list --device "$NAME"
ok "and the second" a "$TOOL" rule list --device "$(basename "$SECOND")"
ok "sluice doctor knows who has the first" grep -q "process $server\b" <(b "$TOOL" doctor 2>&1)
ok "and the second" grep -q "process $client\b" <(a "$TOOL" doctor 2>&1)
stop "$client" "$server"
ok "nothing is left of the first" wait_until 10 test ! -e "$PINS"
ok "nor of the second" wait_until 10 test ! -e "$SECOND"

# When a PID namespace ends, its reaper ends, too, which would have removed program and pins. The next program removes
# the pins, once the steering program is gone (as it is with the device, when a container ends).
number=$(cat /proc/sys/kernel/pid_max)
while [ -e "/proc/$((--number))" ]; do :; done # a number that no process has here
both unshare --pid --fork --kill-child bash -c 'echo $(($1 - 1)) >/proc/sys/kernel/ns_last_pid; shift; "$@" & wait' - $number
same "the first's process has that number" "$number" "$(field "$PINS" pid)"
stop "$client"
ok "nothing is left of the second" wait_until 10 test ! -e "$SECOND"
kill -9 "$server"
wait_end "$server" 10
ip -n "${NS}b" link set "$NAME" xdp off
second
ok "the name is the second's when the first is dead" wait_until 20 is_seconds
stop "$client"
ok "and nothing is left" wait_until 10 test ! -e "$PINS"
done_testing
