#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# sluice stat lists the kernel's sockets of children that a process with its own broker has, and says why; a program
# without permission is told the remedy.
. "$(dirname "$0")/lib.sh"
need python3
net_up
need_built
MODE=one

# The sockets of a process, by local and remote port; a peer's own port is "any".
listed() { # pid
	b "$BUILD/sluice" stat -p "$1" --json >"$TMP/json" || return
	python3 -c '
import json, sys
def port(a):
    n = int(a.rsplit(":", 1)[1]) if a and a[-1] != "*" else 0
    return "any" if n > 10000 else n
print("\n".join(sorted({"%s %s" % (port(k["local"]), k["reason"]) for k in json.load(open(sys.argv[1]))["sockets"]})))' "$TMP/json"
}
child="used in a child process, whose parent has the device; remedy: start sluiced(8), which serves children, too"
eperm="no permission to offload (EPERM); remedy: start sluiced(8), or give the program CAP_BPF, CAP_NET_ADMIN and CAP_NET_RAW"
meet_out() { a python3 -c 'import socket, sys
made = [socket.create_connection((sys.argv[1], int(sys.argv[2]))) for _ in range(2)]
for s in made:
    s.sendall(b"x")
    s.recv(1)
print("met", flush=True)
sys.stdin.read()' "$@"; }

for fam in ${FAMILIES:-4 6}; do
	own=B$fam
	mkfifo "$TMP/hold$fam"
	bg sb python3 "$TESTS/net/reasons_child.py" "${!own}" fork >"$TMP/out$fam"
	wait_line "$TMP/out$fam" listens
	meet_out "${!own}" 7000 <"$TMP/hold$fam" >"$TMP/met$fam" &
	exec 9>"$TMP/hold$fam"
	wait_line "$TMP/out$fam" ready
	read -r _ one two < <(tail -n 1 "$TMP/out$fam")
	for pid in "$one" "$two"; do
		listed "$pid" | sed 's/^700[12] /7001 /' >"$TMP/said" # (either child may be the first)
		same "IPv$fam, a child's sockets" "7000 $child
7001 $child" "$(cat "$TMP/said")"
	done
	ok "IPv$fam, the log says it" grep -q "sockets of this child process stay.*sluiced(8)" "$TMP"/sluice.*.log
	exec 9>&-
	wait_end "$BG" 20 || fail "the server does not end"
	ok "IPv$fam, nothing is left of the children" test ! -e "$TMP/stats/sluice.$one.stats" -o -z "$(b "$BUILD/sluice" stat --list)"

	chmod 777 "$TMP"
	mkfifo "$TMP/wait$fam"
	find_env b
	b setpriv --reuid=65534 --regid=65534 --clear-groups --bounding-set=-all env "${PRE[@]}" SLUICE_DAEMON=off \
		"SLUICE_LOG_FILE=$TMP/nobody.log" python3 "$TESTS/net/reasons_child.py" "${!own}" plain \
		<"$TMP/wait$fam" >"$TMP/plain$fam" &
	exec 9>"$TMP/wait$fam"
	wait_line "$TMP/plain$fam" ready
	read -r _ one <"$TMP/plain$fam"
	same "IPv$fam, without permission" "7000 $eperm
7001 $eperm" "$(listed "$one")"
	ok "IPv$fam, its log names the daemon, too" grep -q "remedy: start sluiced(8)" "$TMP/nobody.log"
	exec 9>&-
	wait
done

if command -v haproxy >/dev/null; then
	cat >"$TMP/haproxy.cfg" <<-END
		global
		  nbthread 1
		defaults
		  mode tcp
		  timeout client 30s
		  timeout server 30s
		  timeout connect 5s
		frontend f
		  bind $B4:7000
		  default_backend k
		backend k
		  server s $A4:7003
	END
	bg a python3 -c 'import socket, sys
l = socket.create_server((sys.argv[1], 7003))
kept = []
while True:
    kept.append(l.accept()[0])
    kept[-1].sendall(b"y")' "$A4"
	wait_tcp a 7003
	bg sb haproxy -W -f "$TMP/haproxy.cfg" >"$TMP/haproxy" 2>&1
	H=$BG
	wait_tcp b 7000
	mkfifo "$TMP/hold"
	meet_out "$B4" 7000 <"$TMP/hold" >"$TMP/met" &
	exec 9>"$TMP/hold"
	wait_line "$TMP/met" met
	worker=$(pgrep -P "$H")
	same "haproxy's worker" "7000 $child
any $child" "$(listed "$worker")"
	exec 9>&-
	stop "$H"
fi
done_testing
