#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# A member of a group takes the huge pages of packet memory away (fallocate(2) makes holes, and the member has all pages
# that are left), and other members die with bytes of connections in these frames: no daemon reads what is not there, and
# another group's traffic does not notice.
. "$(dirname "$0")/lib_lease.sh"
need flock
ONE=65534 TWO=65533
export SLUICE_MEM_ALLOC_TYPE=2 SLUICE_FRAMES=65536
lease_up -c
# (The machine's number of reserved pages is changed for a moment; a test that depends on it has the same lock.)
exec 9>/tmp/sluice-tests.huge
flock 9
NR=/proc/sys/vm/nr_hugepages
before=$(cat $NR)
trap 'rc=$?; echo "$before" >$NR; (exit $rc); at_exit' EXIT
{ echo $((before + 200)) >$NR; } 2>/dev/null
left() { awk '$1 == "HugePages_Free:" { print $2 }' /proc/meminfo; }
[ "$(awk '$1 == "Hugepagesize:" { print $2 }' /proc/meminfo)" = 2048 ] && [ "$(left)" -ge 180 ] || skip "there are no huge pages"
came() { [ "$(grep -c ^dies "$TMP/hostile")" -ge "$1" ]; }
other_up $ONE
d=$(daemon_pid)
bg b setpriv --reuid=$TWO --regid=$TWO --clear-groups "$BIN/hostile" "$TMP/sluiced.b" "$DEV_BC" holes >"$TMP/hostile" 2>"$TMP/hostile.err"
wait_until 20 grep -q ^writes "$TMP/hostile" || die "$(cat "$TMP/hostile" "$TMP/hostile.err")"
evil=$BG
ok "members die" wait_until 20 came 3
wait_until 10 grows "$TMP/other" $(($(answered "$TMP/other") + 200))
same "the daemon lives" "$d" "$(daemon_pid)"
ok "and answers" daemon_answers
kill -9 "$evil"
ok "the leases of the dead end" wait_until 30 leases_are 1
stop "$other"
read -r sent got doubled wrong failed _ <"$TMP/other"
same "the other group lost nothing" "0 0 0 0" "$((sent - got)) $doubled $wrong $failed"
done_testing
