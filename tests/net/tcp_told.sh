#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Programs are killed one after the other, while the kernel takes long to close the first one's rings: the peers of the
# next ones are told meanwhile.
. "$(dirname "$0")/lib_lease.sh"
need python3 strace
lease_up
SLOW=20 # seconds that a grace period takes
members=()
for i in 1 2 3; do
	bg sb "$BIN/member" "$B4" $((7000 + i))
	members+=("$BG")
	wait_udp b $((7000 + i))
	wait_until 20 has_claim $((7000 + i)) || fail "$i is not offloaded"
done
D=$(daemon_pid)
strace -qq -f -p "$D" -o "$TMP/trace" -e trace=membarrier -e "inject=membarrier:delay_enter=${SLOW}000000" &
S=$!
PIDS+=("$S")
traced() { grep -q "^TracerPid:.*[1-9]" "/proc/$D/status"; }
wait_until 10 traced || skip "the daemon cannot be traced"
# Says for each when its connection ended, after all before it did.
a python3 -c '
import os, socket, sys, time
conns = [socket.create_connection((sys.argv[1], 7000 + i)) for i in (1, 2, 3)]
for c in conns:
    c.sendall(b"x")
    c.recv(1)
for pid, c in zip(sys.argv[2:], conns):
    os.kill(int(pid), 9)
    since = time.monotonic()
    c.settimeout(60)
    try:
        how = "bytes" if c.recv(1) else "FIN"
    except ConnectionResetError:
        how = "RST"
    print(how, int(time.monotonic() - since))' "$B4" "${members[@]}" >"$TMP/told"
cat "$TMP/told"
same "all are told" 3 "$(grep -c 'FIN\|RST' "$TMP/told")"
same "none is told when the kernel is ready only" 0 "$(awk -v s=$SLOW '$2 * 2 > s' "$TMP/told" | wc -l)"
ok "the kernel was waited for" grep -q membarrier "$TMP/trace"
kill "$S"
wait "$S" 2>/dev/null
ok "and then they are buried" wait_until 60 leases_are 0
done_testing
