#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# A root server's secrets, by which anybody could forge segments of all root's connections, and the machine's key of Fast
# Open are in its own memory alone: not in a child's, which may become another user, nor in its own once it has become one.
. "$(dirname "$0")/lib_tcp.sh"
need python3
unsanitized "it searches a process's memory, of which a sanitizer reserves terabytes"
net_up
need_built
b sysctl -qw net.ipv4.tcp_fastopen=3 net.ipv4.tcp_fastopen_key=1a2b3c4d-5e6f7081-92a3b4c5-d6e7f809
a sysctl -qw net.ipv4.tcp_fastopen=3
MODE=one
meet
bg pb timeout 60 python3 "$TESTS/net/secrets.py" "$B4" 7000 /run/sluice/0/tcp-secret >"$TMP/b" 2>&1
server=$BG
wait_tcp b 7000
ok "a client is answered" a timeout 20 python3 "$TESTS/net/secrets.py" ask "$B4" 7000
ok "the server ends" wait_end "$server" 40
said() { sed -n "s/^$1: //p" "$TMP/b"; }
same "the server has them" "['key', 'numbers']" "$(said "the server")"
same "a child has none" "[]" "$(said fork)"
same "nor has one that is made by the bare instruction" "[]" "$(said bare)"
same "nor has the server as another user" "[]" "$(said "another user")"
[ "$(wc -l <"$TMP/b")" = 4 ] || cat "$TMP/b"
done_testing
