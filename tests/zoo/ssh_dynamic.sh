#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# ssh -D: a SOCKS proxy on the client's host, whose connections go by sshd.
. "$(dirname "$0")/lib.sh"
need sshd ssh curl python3
net_up
files 1 1000 100000 3000000
mkdir -p /run/sshd
ssh-keygen -q -t ed25519 -N '' -f "$TMP/host" && ssh-keygen -q -t ed25519 -N '' -f "$TMP/user"
cp "$TMP/user.pub" "$TMP/authorized"
bg b python3 -m http.server --bind "$B4" --directory "$TMP/www" 8081 2>/dev/null
wait_tcp b 8081
server() {
	bg pb "$(command -v sshd)" -D -e -p 2222 -o ListenAddress="$B4" -o HostKey="$TMP/host" -o AuthorizedKeysFile="$TMP/authorized" \
		-o StrictModes=no -o UsePAM=no -o PermitRootLogin=yes -o PidFile=none -f /dev/null
}
talk() {
	local n
	ssh -N -D 127.0.0.1:1080 -p "$PORT" -i "$TMP/user" -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR "root@$B4" &
	for _ in $(seq 100); do (: >/dev/tcp/127.0.0.1/1080) 2>/dev/null && break; sleep 0.1; done
	for n in 1 1000 100000 3000000; do
		curl -s --max-time 20 --socks5 127.0.0.1:1080 "http://$B4:8081/$n" | cmp - "$TMP/www/$n" && echo "$n same"
	done
	seq 20 | xargs -P 5 -I{} curl -s --max-time 20 --socks5-hostname 127.0.0.1:1080 -o /dev/null -w '%{http_code}\n' "http://$B4:8081/1000" | sort | uniq -c
	kill %1
}
zoo ssh_dynamic 2222
done_testing
