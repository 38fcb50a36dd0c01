#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# sluiced: programs without privileges are offloaded by it, the policy decides who, hostile clients
# get nothing and disturb nobody, a killed program's peers are told and its port is free.
. "$(dirname "$0")/lib_lease.sh"
need python3
ONE_LEASE=1
lease_up
D=$(daemon_pid)

# The daemon itself has given up what it does not need.
same "the daemon may not gain privileges" "NoNewPrivs:	1" "$(grep NoNewPrivs "/proc/$D/status")"
ok "it has few capabilities" test "$((0x$(awk '/CapBnd/ { print $2 }' "/proc/$D/status") & 1))" = 0
same "its system calls are confined" 2 "$(awk '/^Seccomp:/ { print $2 }' "/proc/$D/status")"

# A user without privileges.
bg sb "$BIN/echo" "$B4" 7000
server=$BG
wait_udp b 7000
ok "it has a claim" wait_until 10 has_claim 7000
ok "a lease is shown" test "$(daemon leases | awk '$3 == "echo" { print $2, $4 }')" = "$server 65534"
ok "the device is shown" test "$(daemon ports | awk -v d="$DEV_B" '$1 == d { print $5, $6, $7 }')" = "1 1 1"
bg a "$BIN/steady" -i 1000 "$B4" 7000 "$TMP/steady"
client=$BG
wait_until 10 grows "$TMP/steady" 100
offload_begin
n=$(answered "$TMP/steady")
ok "answers come" wait_until 10 grows "$TMP/steady" $((n + 500))
same "none of them by the kernel" 0 $(($(udp_stat b InDatagrams) - K_IN))
same "the program has no capability" 0 "$((0x$(awk '/CapEff/ { print $2 }' "/proc/$server/status")))"

# Hostile clients attack meanwhile. Nothing that they would have sent arrives at another user's socket.
unasked=$(udp_stat a NoPorts)
fds=$(($(ls "/proc/$D/fd" | wc -l) + 1)) # (the daemon opens one for the thread that asks about sockets, and keeps it)
out=$(sb env -u LD_PRELOAD python3 "$TESTS/net/sluiced.py" "$TMP/sluiced.b" "$B4" "$(b cat "/sys/class/net/$DEV_B/ifindex" 2>/dev/null || b ip -o link show "$DEV_B" | cut -d: -f1)" 7000 "$A4" "$A6")
same "nothing was given to a hostile client" 0 $?
printf '%s\n' "$out" | grep -v ^refused
K_IN=$((K_IN + 2)) # (the hostile client may send to itself)
same "nor sent for him to another host" "$unasked" "$(udp_stat a NoPorts)"
ok "the daemon lives" kill -0 "$D"
n=$(grep -c "of user 65534: request 2 refused" "$TMP/sluice.db.log")
ok "its log has a bounded number of lines about a user ($n of 300)" test "$n" -ge 1 -a "$n" -le 128
same "as it says" 1 "$(grep -c "user 65534 makes more than 64 lines" "$TMP/sluice.db.log")"
are_closed() { [ "$(ls "/proc/$D/fd" | wc -l)" -le "$fds" ]; } # (by threads, soon)
ok "its descriptors are closed" wait_until 10 are_closed
n=$(answered "$TMP/steady")
ok "answers still come" wait_until 10 grows "$TMP/steady" $((n + 500))
same "by the same way" 0 $(($(udp_stat b InDatagrams) - K_IN))
stop "$client"
read -r sent got doubled wrong failed _ <"$TMP/steady"
ok "nothing was lost meanwhile (sent $sent, answered $got)" test $((sent - got)) -le 1
same "none doubled, wrong or failed" "0 0 0" "$doubled $wrong $failed"

# After kill -9 the daemon takes everything back.
kill -9 "$server"
wait "$server" 2>/dev/null
ok "a killed program has no lease" wait_until 10 leases_are 0
ok "and no claim" wait_until 10 not has_claim 7000

# A connection's peer is told, idle as it is, and the port can be used at once.
for addr in "$A4 $B4" "$A6 $B6"; do
	read -r peer own <<<"$addr"
	bg sb python3 -c '
import socket, sys
s = socket.create_server((sys.argv[1], 7001), family=socket.AF_INET6 if ":" in sys.argv[1] else socket.AF_INET)
held = []
while True:
    held.append(s.accept()[0])
    held[-1].sendall(b"x")' "$own"
	server=$BG
	wait_tcp b 7001
	bg a python3 -c '
import socket, sys
own, told = sys.argv[1:]
held = [socket.create_connection((own, 7001)) for _ in range(20)]
ends = []
for c in held:
    assert c.recv(1) == b"x"
open(told, "w").close()
for c in held:
    c.settimeout(20)
    try:
        ends.append("end" if c.recv(1) == b"" else "data")
    except ConnectionResetError:
        ends.append("reset")
    except TimeoutError:
        ends.append("nothing")
print(sorted(set(ends)))' "$own" "$TMP/told" >"$TMP/ends"
	client=$BG
	wait_until 20 test -e "$TMP/told" || die "the connections are not made"
	rm "$TMP/told"
	at=$(date +%s%N)
	kill -9 "$server"
	wait "$server" 2>/dev/null
	wait_end "$client" 30
	say "told after $((($(date +%s%N) - at) / 1000000)) ms"
	same "the peers of a killed program are told, as by the kernel" "['end']" "$(cat "$TMP/ends")"
	bg sb python3 -c 'import socket, sys; socket.create_server((sys.argv[1], 7001), family=socket.AF_INET6 if ":" in sys.argv[1] else socket.AF_INET).accept()' "$own"
	wait_tcp b 7001
	pass "the port can be used again"
	stop "$BG"
done

# The policy.
printf 'deny user 65534\nallow user *\nallow user * lanes many\n' >"$TMP/sluiced.b.conf"
kill -HUP "$D"
ok "a wrong line is told" wait_until 10 file_has "$TMP/sluice.db.log" "conf:3: expected.*'many'"
rm -f "$TMP"/sluice.[0-9]*.log
bg sb "$BIN/echo" "$B4" 7000
wait_udp b 7000
bg a "$BIN/steady" "$B4" 7000 "$TMP/steady2"
ok "who may not have a lease works by the kernel" wait_until 10 grows "$TMP/steady2" 100
ok "and is told" grep -q "user 65534 may not have a lease" "$TMP"/sluice.[0-9]*.log
same "no lease was given" 0 "$(leases)"

# SIGTERM: what runs goes on in the kernel, connections too.
printf 'allow user *\n' >"$TMP/sluiced.b.conf"
kill "$D"
wait_until 10 gone "$D" || fail "the daemon does not end"
daemon_up b "allow user *"
D=$(daemon_pid)
bg sb python3 -c '
import socket, sys
c = socket.create_server((sys.argv[1], 7002)).accept()[0]
while True:
    data = c.recv(100)
    if not data:
        break
    c.sendall(data)' "$B4"
server=$BG
wait_tcp b 7002
bg a python3 -c '
import socket, sys, time
c = socket.create_connection((sys.argv[1], 7002))
n = 0
while n < 100000 and not (n > 200 and open(sys.argv[2]).read()):
    c.sendall(b"%06d" % n)
    assert c.recv(6, socket.MSG_WAITALL) == b"%06d" % n
    n += 1
    time.sleep(0.002)
for i in range(200):
    c.sendall(b"again!")
    assert c.recv(6, socket.MSG_WAITALL) == b"again!"
print("whole")' "$B4" "$TMP/over" >"$TMP/ends"
client=$BG
: >"$TMP/over"
ok "a connection is offloaded" wait_until 10 test "$(daemon leases | awk '$3 == "python3" { print $6 }')" = 1
kill "$D"
ok "told to, the daemon ends" wait_until 10 gone "$D"
echo yes >"$TMP/over"
wait_end "$client" 20
same "the connection went on" "whole" "$(cat "$TMP/ends")"
stop "$server"
daemon_up b "allow user *"
D=$(daemon_pid)

# The end.
ok "root drains it" daemon drain
ok "drained, it ends" wait_until 10 gone "$D"
same "nothing is left of it" "" "$(ls -d "$TMP/sluiced.b" "/sys/fs/bpf/sluice/$DEV_B" 2>/dev/null)"
done_testing
