#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# A program in namespaces of its own, as a container has them (user, mount, pid, ipc), with nothing but the
# daemon's socket mounted in and the network of the device, is offloaded; in another network it is not, and says so.
. "$(dirname "$0")/lib_lease.sh"
need unshare python3
lease_up
unshare --user --map-root-user --mount --pid --fork true 2>/dev/null || skip "no user namespaces here"
mkdir "$TMP/run" "$TMP/mnt"
chmod 777 "$TMP/mnt"
ln "$TMP/sluiced.b" "$TMP/run/sluiced.sock"
# The container's view: the socket's directory where the program looks for it.
cat >"$TMP/inside" <<END
mount --bind "$TMP/run" "$TMP/mnt" && exec env $(preload_env | tr '\n' ' ') SLUICE_DAEMON=$TMP/mnt/sluiced.sock \
	SLUICE_LOG_FILE=$TMP/sluice.in.log "\$@"
END
contained() { # host, command...
	local h=$1
	shift
	bg "$h" setpriv --reuid=65534 --regid=65534 --clear-groups unshare --user --map-root-user --mount --pid --ipc \
		--fork --kill-child sh "$TMP/inside" "$@"
}
contained b "$BIN/echo" "$B4" 7000
inside=$BG
wait_udp b 7000
bg a "$BIN/steady" -i 1000 "$B4" 7000 "$TMP/steady"
ok "it answers" wait_until 20 grows "$TMP/steady" 100
ok "it has a lease, though its number is another inside" test \
	"$(daemon leases | awk '$3 == "echo" { print $4 }')" = 65534
offload_begin
n=$(answered "$TMP/steady")
ok "answers come" wait_until 20 grows "$TMP/steady" $((n + 300))
same "none of them by the kernel" 0 "$(($(udp_stat b InDatagrams) - K_IN))"
stop "$BG"
# A container whose network namespace is not the daemon's.
rm -f "$TMP/sluice.in.log"
contained a "$BIN/echo" "$A4" 7001
wait_udp a 7001
ok "of another network it is refused, and told" wait_until 10 file_has "$TMP/sluice.in.log" "another network namespace"
bg b "$BIN/steady" -i 1000 "$A4" 7001 "$TMP/steady2"
ok "it works by the kernel" wait_until 20 grows "$TMP/steady2" 100
# A daemon in a process namespace, to which the program has no number, and then a program that hangs up and lives.
kill -9 "$inside" # (unshare waits for its child)
wait_until 10 leases_are 0 || fail "a lease does not end"
daemon_ends
DAEMON_BY=(unshare --pid --fork --kill-child bash -c '"$@"; true' init)
daemon_starts "allow user *"
DAEMON_BY=()
bg b python3 "$TESTS/net/lease_user.py" "$TMP/sluiced.b" "hang up" "$DEV_B"
lives=$BG
ok "a program outside of the daemon's process namespace has a device" wait_until 10 eval 'daemon ports | grep -q "^$DEV_B"'
ok "the device is nobody's when it has hung up" wait_until 10 not eval 'daemon ports | grep -q "^$DEV_B"'
ok "though it lives" kill -0 "$lives"
stop "$lives"
done_testing
