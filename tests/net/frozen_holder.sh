#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# The control group of a member of a group is frozen (docker pause) while it holds all locks of the group, like a stopped
# one (stopped_holder.sh): the daemon ends the group's sharing in two seconds, and its other programs go on by the kernel.
. "$(dirname "$0")/lib_lease.sh"
need_freezer() { # sets GROUP
	for GROUP in /sys/fs/cgroup/freezer/$NS /sys/fs/cgroup/unified/$NS /sys/fs/cgroup/$NS; do
		mkdir "$GROUP" 2>/dev/null || continue
		[ ! -w "$GROUP/freezer.state" ] && [ ! -w "$GROUP/cgroup.freeze" ] || return 0
		rmdir "$GROUP"
	done
	skip "no control group can be frozen"
}
freeze() { # 0 or 1
	case $GROUP in
	*/freezer/*) [ "$1" = 1 ] && echo FROZEN >"$GROUP/freezer.state" || echo THAWED >"$GROUP/freezer.state" ;;
	*) echo "$1" >"$GROUP/cgroup.freeze" ;;
	esac
}
need_freezer
lease_up
USER_ID=65534
echo_as $USER_ID "$B4" 7001
wait_until 10 has_claim 7001 || die "nothing is offloaded"
bg a "$BIN/steady" -i 1000 "$B4" 7001 "$TMP/group"
wait_until 20 grows "$TMP/group" 100 || die "no answers"
# shellcheck disable=SC2016 # the shell on host b expands it
bg b bash -c 'echo $$ >"$0/cgroup.procs" && exec "$@"' "$GROUP" setpriv --reuid=$USER_ID --regid=$USER_ID --clear-groups \
	"$BIN/hostile" "$TMP/sluiced.b" "$DEV_B" keep >"$TMP/hostile"
frozen=$BG
wait_line "$TMP/hostile" writes
freeze 1
ok "the group's sharing ends" wait_until 3 grep -q "has broken the memory .* process $frozen .*, which is stopped" "$TMP/sluice.db.log"
ok "the group goes on" wait_until 4 grows "$TMP/group" $(($(answered "$TMP/group") + 200))
freeze 0
stop "$frozen"
wait_until 5 rmdir "$GROUP"
done_testing
