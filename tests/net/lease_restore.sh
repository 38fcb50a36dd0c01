#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# A daemon hands a dead process's connections back to the kernel, and lends repair mode to no process: hostile clients
# of two users get only their own connections, no port of others, and cannot make the daemon wait.
. "$(dirname "$0")/lib_lease.sh"
need python3
lease_up
bg b python3 -c '
import socket, sys
l = socket.create_server((sys.argv[1], 9000))
while True:
    c = l.accept()[0]
    c.sendall(b"the victim")
    c.close()' "$B4"
wait_tcp b 9000
bg a python3 -c '
import socket, sys
l = socket.create_server((sys.argv[1], 9001))
keep = []
while True:
    keep.append(l.accept()[0])
    keep[-1].sendall(b"unread")' "$A4"
wait_tcp a 9001
D=$(daemon_pid)
ifindex=$(b ip -o link show "$DEV_B" | cut -d: -f1)
fds=$(ls "/proc/$D/fd" | wc -l)
out=$(b timeout 60 python3 "$TESTS/net/lease_restore.py" "$TMP/sluiced.b" "$B4" "$ifindex" "$A4" 2>&1)
same "hostile clients got what is theirs alone" 0 $?
printf '%s\n' "$out" | grep -v ^ok
ok "all of it was tried" grep -q "^ok: .*a connection is read" <<<"$out"
ok "the daemon lives" kill -0 "$D"
few_fds() { [ "$(ls "/proc/$D/fd" | wc -l)" -le $((fds + 8)) ]; } # (those of device and iterator stay open)
ok "its descriptors are closed" wait_until 10 few_fds
same "the victim is answered by its own server" "the victim" \
	"$(a timeout 10 bash -c "cat </dev/tcp/$B4/9000")"
done_testing
