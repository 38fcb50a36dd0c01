#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Connections with checked bytes both ways follow what changes: a rule sends them to the kernel and,
# when it goes, back; the steering program is taken off. Not a byte is wrong, and no connection is reset.
RX=xdp # (the test looks at XDP programs and sockets)
. "$(dirname "$0")/lib_tcp.sh"
net_up
need bpftool
. "$(dirname "$0")/lib_swarm.sh"
SLUICE=$BUILD/sluice

for MODE in $MODES; do
	for how in "listen 4 server" "connect 6 client"; do
		read -r role fam name <<<"$how"
		WHAT="rules, $role, IPv$fam"
		begin "$role" "$fam"
		ok "$WHAT: a rule is added" b "$SLUICE" rule add --device "$DEV_B" use os "tcp_$name" '*:*'
		ok "$WHAT: they go to the kernel" wait_until 10 has b $PORT -gt 0
		ok "$WHAT: the rule is removed" b "$SLUICE" rule del --device "$DEV_B" 1
		ok "$WHAT: they come back" wait_until 20 has b $PORT -eq 0
		end
		if ! guarded; then
			ok "$WHAT: that no guard is there is said" file_has <(cat "$TMP"/sluice.*.log) "no guard holds the kernel's resets"
			continue
		fi
		WHAT="steering program taken off, $role, IPv$fam"
		begin "$role" "$fam"
		ok "$WHAT: done" b ip link set dev "$DEV_B" xdp off
		ok "$WHAT: they go to the kernel" wait_until 10 has b $PORT -gt 0
		end
	done
	guarded || { say "left out: $GUARD_NOTE" && continue; }
	# A connection that is being opened when the program goes has no answer, and the library does not know of its
	# loss yet.
	WHAT="connecting while the steering program is taken off"
	bg pa python3 "$TESTS/net/tcp_soak.py" server "$A4" 6999
	OTHER=$BG
	wait_tcp a 6999
	bg pb python3 "$TESTS/net/tcp_soak.py" client "$A4" 6999 3 >"$TMP/b" 2>&1
	SUBJECT=$BG
	sleep 1.5
	ok "$WHAT: done" b ip link set dev "$DEV_B" xdp off
	ok "$WHAT: it goes on" wait_end "$SUBJECT" 30
	pass "$WHAT: $(head -n 1 "$TMP/b")"
	stop "$OTHER"
done
done_testing
