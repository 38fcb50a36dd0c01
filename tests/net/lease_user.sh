#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# A lease belongs to a process and its user: the daemon hangs up on a process that has another user, other groups or
# fewer capabilities than at its greeting, and gives it nothing.
. "$(dirname "$0")/lib_lease.sh"
need python3 strace
lease_up
b timeout 60 python3 "$TESTS/net/lease_user.py" "$TMP/sluiced.b" >"$TMP/b" 2>&1
for what in "nothing" "the same user once more" "effective user, for a moment" "root's groups" "root's saved group" \
	"nothing, small"; do
	same "$what" "$what: has it" "$(grep "^$what:" "$TMP/b")"
done
for what in user "real user" "saved user" "saved group" groups capabilities "user, small" "real user, small"; do
	same "$what" "$what: refused, then hung up" "$(grep "^$what:" "$TMP/b")"
done
for what in "a child" "a child, small"; do
	same "$what" "$what: refused, then -1" "$(grep "^$what:" "$TMP/b")"
done
same "a user from before the greeting" "user, before the greeting: greeted: -71" "$(grep "^user, before" "$TMP/b")"
same "a group from before the greeting" "group, before the greeting: greeted: -71" "$(grep "^group, before" "$TMP/b")"
same "an effective user" "real user, before the greeting: greeted: 0" "$(grep "^real user, before" "$TMP/b")"
case $(grep "^root of a namespace:" "$TMP/b") in
*PermissionError* | *AssertionError*) say "no user namespaces here" ;;
*)
	same "root of a namespace" "root of a namespace: refused, then hung up" "$(grep "^root of a namespace:" "$TMP/b")"
	same "who is nobody to the daemon" "root of a namespace, small: has it; drains: -1" "$(grep "^root of a namespace, small:" "$TMP/b")"
	;;
esac
echo "allow user *" >"$TMP/sluiced.b.conf"
kill -HUP "$(daemon_pid)"
same "a user that is borrowed from is in another group" "0 65534 0 another
0 65534 65534 another
65534 65534 0 another
65534 65534 65534 the same" "$(b timeout 20 python3 "$TESTS/net/lease_user.py" "$TMP/sluiced.b" borrowed 2>&1)"
# The last line that is read ends in "user 10".
{
	printf 'allow user 1000\n'
	printf '#%.0s' {1..65506}
	printf '\nallow user 1001\n'
} >"$TMP/sluiced.b.conf"
kill -HUP "$(daemon_pid)"
greeted() { b setpriv "--reuid=$1" python3 -c "import sys; sys.path.append('$TESTS/net'); import leaselib; print(leaselib.greet(leaselib.dial('$TMP/sluiced.b'))[0])"; }
ok "a policy that is too long" wait_until 5 grep -q "only 65523 bytes are read" "$TMP/sluice.db.log"
same "allows no user by a part of a line" "0 -13" "$(greeted 1000) $(greeted 10)"
echo "allow user *" >"$TMP/sluiced.b.conf"
kill -HUP "$(daemon_pid)"
ok "their leases have ended" wait_until 10 leases_are 0
bg b python3 "$TESTS/net/lease_user.py" "$TMP/sluiced.b" child
wait "$BG"
ok "so has that of a dead process, whose child has the connection" wait_until 10 leases_are 0
# A process with the number of the dead one is not that process, even if it asks so fast that the daemon always has a
# request to read. (Here the daemon is slow.)
strace -qq -p "$(daemon_pid)" -o "$TMP/trace" -e trace=recvmsg -e "inject=recvmsg:delay_exit=10000" &
slow=$!
PIDS+=("$slow")
traced() { grep -q "^TracerPid:.*[1-9]" "/proc/$(daemon_pid)/status"; }
wait_until 10 traced || die "the daemon cannot be traced"
b timeout 60 python3 "$TESTS/net/lease_user.py" "$TMP/sluiced.b" successor >"$TMP/successor" 2>&1
wait_until 20 test -s "$TMP/successor"
stop "$slow"
case $(cat "$TMP/successor") in
"no process"*) say "$(cat "$TMP/successor")" ;;
*) same "its number gives nobody the lease" "hung up" "$(cat "$TMP/successor")" ;;
esac
ok "and the lease has ended" wait_until 10 leases_are 0
done_testing
