#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Flows that a program lets pass to the kernel are claims of its lease: they end with it, however it ends, also when
# another daemon has come meanwhile.
. "$(dirname "$0")/lib_lease.sh"
need python3
lease_up
ifindex=$(b ip -o link show "$DEV_B" | cut -d: -f1)
flows() { bpftool -j map dump pinned "/sys/fs/bpf/sluice/$DEV_B/flows" 2>/dev/null | grep -o '"remote_port":[789],' | wc -l; }
flows_are() { [ "$(flows)" = "$1" ]; }
mkfifo "$TMP/go"
# (Another program keeps the device open, with its maps.)
bg sb "$BIN/echo" "$B4" 7001
wait_udp b 7001
wait_until 10 has_claim 7001 || die "nothing is offloaded"
client() { # HOW
	: >"$TMP/client"
	bg b setpriv --reuid 65534 --regid 65534 --clear-groups python3 "$TESTS/net/lease_pass.py" \
		"$TMP/sluiced.b" "$B4" "$ifindex" "$A4" "$1" <>"$TMP/go" >"$TMP/client" 2>&1
	wait_line "$TMP/client" claimed
	same "$2: flows pass" 3 "$(flows)"
}
dies() {
	kill -9 "$BG"
	wait "$BG" 2>/dev/null
}
client wait "killed"
dies
ok "killed: they have ended" wait_until 10 flows_are 0
client exec "another program"
echo go >"$TMP/go"
ok "another program: they have ended" wait_until 10 flows_are 0
dies
client wait "another daemon"
daemon_again() {
	local d
	d=$(daemon_pid)
	kill -9 "$d"
	wait_until 10 gone "$d"
	$1
	daemon_up b "allow user *"
	wait_until 10 daemon_answers || die "no daemon goes on"
}
daemon_again true
same "another daemon: they pass still" 3 "$(flows)"
dies
ok "another daemon: they have ended" wait_until 10 flows_are 0
client wait "both killed"
daemon_again dies
ok "both killed: they have ended" wait_until 10 flows_are 0
ok "the other program has its claim" has_claim 7001
done_testing
