#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# systemd-socket-activate with two listeners: the connection that it waited for is the service's, whose environment it
# makes anew. With -a it starts a service for each connection.
. "$(dirname "$0")/lib.sh"
need systemd-socket-activate socat python3
net_up
cat >"$TMP/service.py" <<'P'
import selectors, socket
sel = selectors.DefaultSelector()
for fd in (3, 4):
	sel.register(socket.socket(fileno=fd), selectors.EVENT_READ)
while True:
	for key, _ in sel.select():
		with key.fileobj.accept()[0] as conn:
			while data := conn.recv(65536):
				conn.sendall(data)
P
server() {
	local at=(-l "$B4:7000" -l "[$B6]:7001")
	case $HOW in
	wait) bg pb systemd-socket-activate "${at[@]}" python3 "$TMP/service.py" ;;
	each) bg pb systemd-socket-activate -a "${at[@]}" --inetd cat ;;
	esac
}
talk() {
	local to
	for to in "TCP4:$B4:7000" "TCP6:[$B6]:7001"; do
		echo "hello $HOW $to" | timeout 15 socat -t10 - "$to"
		head -c 200000 /dev/zero | timeout 15 socat -t10 - "$to" | md5sum
	done
}
for HOW in wait each; do
	export HOW
	zoo "activate-$HOW" 7000
done
done_testing
