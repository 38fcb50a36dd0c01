#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# The guard that a kernel without links of netfilter has, a rule of nf_tables (lib/ctl/steer/nft.c; on a newer kernel
# SLUICE_GUARD_NFT makes it so): it is there as long as the program that offloads TCP, however that ends; somebody who
# flushes all tables does not take it away, and those of others stay as they are.
MODES=one
. "$(dirname "$0")/lib_tcp.sh"
net_up
need python3
MODE=one
kernel_is 5.12 || skip "tables have no owner before Linux 5.12"
export SLUICE_GUARD_NFT=1
tables() { b python3 "$TESTS/net/nft_tables.py" list | tr '\n' ' ' | sed 's/ *$//'; }
has() { [ "$(tables)" = "$1" ]; }
INDEX=$(b ip -o link show "$DEV_B" | cut -d: -f1)
V4="2 sluice-$INDEX owned" V6="10 sluice-$INDEX owned"
PORT=7300
server() { # what it does then, file for its output: starts a program with a listener; SUBJECT is its PID
	PORT=$((PORT + 1))
	bg pb python3 -c "import os, signal, socket, sys, time
s = socket.create_server(('$B4', $PORT))
$1" >"${2:-/dev/null}"
	SUBJECT=$BG
	wait_tcp b $PORT
}
none() { wait_until 5 has "$1"; }

server "time.sleep(60)"
ok "it is there" wait_until 5 has "$V4 $V6"
b python3 "$TESTS/net/nft_tables.py" flush || true
same "it is not flushed" "$V4 $V6" "$(tables)"
stop "$SUBJECT"
ok "the end of the program is its end" none ""

b python3 "$TESTS/net/nft_tables.py" add foreign
for round in 1 2 3; do
	server "time.sleep(60)"
	ok "round $round: beside another's" wait_until 5 has "2 foreign $V4 $V6"
	kill -9 "$SUBJECT"
	wait "$SUBJECT" 2>/dev/null
	# (The table has another name if the dead program's is still there.)
	server "time.sleep(60)"
	ok "round $round: the next program has one" wait_until 5 eval 'tables | grep -qE "^2 foreign 2 sluice-[.0-9]+ owned 10 sluice-[.0-9]+ owned$"'
	kill -9 "$SUBJECT"
	wait "$SUBJECT" 2>/dev/null
	ok "round $round: none is left after a kill" none "2 foreign"
done
server "child = os.fork()
if not child: time.sleep(60)
print(child, flush=True)
os.kill(os.getpid(), signal.SIGKILL)" "$TMP/fork"
wait_line "$TMP/fork" .
ok "nor while a child lives" none "2 foreign"
kill -9 "$(cat "$TMP/fork")"
wait_until 5 gone "$(cat "$TMP/fork")" # (the device is the child's until then)
server "while not os.path.exists('$TMP/go'): time.sleep(.1)
os.execvp('sleep', ['sleep', '60'])"
ok "one more" wait_until 5 has "2 foreign $V4 $V6"
touch "$TMP/go"
ok "nor when the program has become another one" none "2 foreign"
stop "$SUBJECT"
b python3 "$TESTS/net/nft_tables.py" flush
done_testing
