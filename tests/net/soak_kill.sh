#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Members of a crowd are killed, one every 100 ms: several processes of one user, and some of another, on one
# device by the daemon. Nobody else loses a byte, the peers of the dead are told, nothing of them is left.
# SOAK_KILL_SECONDS says for how long (`make soak`: ten minutes, where times are asserted, too). DIVIDED=1: on a NIC
# that is divided among the two groups.
. "$(dirname "$0")/lib_lease.sh"
lease_up ${DIVIDED:+-q 4}
if [ -n "${DIVIDED:-}" ]; then
	STATE=$TMP/nic
	daemon_ends
	on_steering_nic
	daemon_starts "$(printf 'allow user *\ndivide %s 2' "$DEV_B")"
fi
SECONDS_EACH=${SOAK_KILL_SECONDS:-4}
STALL=${SOAK_KILL_STALL:-0} # ms
D=$(daemon_pid)
member() { # user
	local pre
	mapfile -t pre < <(preload_env)
	echo nsenter "--net=/run/netns/${NS}b" -- setpriv "--reuid=$1" "--regid=$1" --clear-groups \
		--bounding-set=-all --no-new-privs env "${pre[@]}" "SLUICE_LOG_FILE=$TMP/sluice.%d.log" \
		"SLUICE_DAEMON=$TMP/sluiced.b" "$BIN/member"
}
# The script that the driver runs when no packet is under way.
cat >"$TMP/count" <<END
#!/bin/sh
sleep 0.3
{
	echo leases \$("$BUILD/sluice" daemon --socket "$TMP/sluiced.b" leases | tail -n +2 | wc -l)
	echo port \$("$BUILD/sluice" daemon --socket "$TMP/sluiced.b" ports | awk '\$1 == "$DEV_B" { print \$5, \$6, \$7 }')
	for m in endpoints flows; do
		echo \$m \$(bpftool map dump pinned /sys/fs/bpf/sluice/$DEV_B/\$m 2>/dev/null | grep -c local_port)
	done
	echo fds \$(ls /proc/$D/fd | wc -l)
	[ -z "${DIVIDED:-}" ] || echo \$("$BIN/steering_nic" "$TMP/nic" | head -n 3)
} >"$TMP/\$1"
[ -n "${DIVIDED:-}" ] || "$BIN/frames" $D >"$TMP/frames.\$1"
END
chmod 755 "$TMP/count"
run() {
	a "$BIN/crowd" -n "$SECONDS_EACH" -m "$STALL" -c "$TMP/count" "$B4" 7000 \
		"3:3:$(member 65534)" "1:1:$(member 65533)"
}
# The kernel closes a dead process's files from the highest number down, and files for which the daemon waits must not
# wait behind one that is slow to close.
bg sb "$BIN/member" "$B4" 7900
one=$BG
ok "a member is offloaded" wait_until 20 has_claim 7900
in_order() { [ -n "$2" ] && [ "$1" -lt "$2" ]; }
read -r slow low < <(ls -l "/proc/$one/fd" | awk '/anon_inode:inotify/ { slow = $9 }
	/socket:/ && $9 >= 64 && (!low || $9 < low) { low = $9 } END { print slow, low }')
ok "what takes long to close ($slow) is below the library's sockets ($low)" in_order "$slow" "$low"
stop "$one"
wait_until 10 leases_are 0 || fail "its lease stays"
run >"$TMP/crowd"
same "not a byte of the others was lost or wrong, and no stall was too long" 0 $?
cat "$TMP/crowd"
same "those of the first user are offloaded" "port 3" "$(sed -n 's/^\(port [0-9]*\).*/\1/p' "$TMP/begin")"
[ -z "${DIVIDED:-}" ] || same "so are the other's, by rules of the NIC" "rules 2 ntuple on spread over 2" "$(tail -n 1 "$TMP/begin")"
same "no lease, lane, flow or descriptor is left" "$(cat "$TMP/begin")" "$(cat "$TMP/end")"
# (Every frame's place is known: nothing was under way when they were counted.)
lost() { sed 's/.*\( busy [0-9]* dead [0-9]*\) .*\( transmit [0-9]*\) .*\( kernel.*\)/\1\2\3/' "$1"; }
for at in begin end; do
	[ -z "${DIVIDED:-}" ] || continue # `frames` knows one group's
	cat "$TMP/frames.$at"
	same "no frame is lost, with the dead, or in two places, at the $at" \
		" busy 0 dead 0 transmit 0 kernel 0 twice 0" "$(lost "$TMP/frames.$at")"
done
kill -0 "$D" || fail "the daemon has died"
done_testing
