#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# OpenSSH: commands, a large file each way, forwarding (-L, -R, -D). The server's child of each connection
# is forked and executed anew: it has the connection from its parent.
. "$(dirname "$0")/lib_tcp.sh"
need ssh sshd scp ssh-keygen curl python3
net_up
if [ -n "${BY_DAEMON:-}" ]; then # (sshd must be root, to log users in, but needs no privilege for Sluice)
	daemon_up b
	SL_ENV=("SLUICE_DAEMON=$TMP/sluiced.b")
fi
mkdir -p /run/sshd "$TMP/www"
ssh-keygen -q -t ed25519 -N '' -f "$TMP/host" && ssh-keygen -q -t ed25519 -N '' -f "$TMP/user" || skip "no keys"
cp "$TMP/user.pub" "$TMP/authorized"
chown root "$TMP"
for n in 1000 100000 4000000; do head -c "$n" /dev/urandom >"$TMP/www/$n"; done
cat >"$TMP/sshd_config" <<END
Port 2222
ListenAddress $B4
ListenAddress $B6
HostKey $TMP/host
AuthorizedKeysFile $TMP/authorized
PermitRootLogin yes
StrictModes no
UsePAM no
PidFile none
GatewayPorts yes
SetEnv HOME=$TMP
Subsystem sftp internal-sftp
END
cat >"$TMP/ssh_config" <<END
Host *
Port 2222
User root
IdentityFile $TMP/user
IdentitiesOnly yes
StrictHostKeyChecking no
UserKnownHostsFile /dev/null
LogLevel ERROR
ConnectTimeout 20
ServerAliveInterval 5
END
export TMP
commands() { # address
	local ssh=(ssh -F "$TMP/ssh_config" "$1")
	"${ssh[@]}" 'echo a command; exit 3'
	echo "status $?"
	"${ssh[@]}" "cat $TMP/www/4000000" | cmp - "$TMP/www/4000000" && echo read
	"${ssh[@]}" 'cat | sha256sum' <"$TMP/www/4000000"
	seq 100000 | "${ssh[@]}" 'tac | head -n 3; cat >/dev/null'
	for i in 1 2 3 4; do "${ssh[@]}" "sleep 0.1; echo at a time" & done
	wait
}
files() { # address
	scp -q -F "$TMP/ssh_config" "$TMP/www/4000000" "$1:$TMP/there" && cmp "$TMP/there" "$TMP/www/4000000" && echo there
	scp -q -F "$TMP/ssh_config" "$1:$TMP/there" "$TMP/back" && cmp "$TMP/back" "$TMP/www/4000000" && echo back
	rm -f "$TMP/there" "$TMP/back"
}
# Through one connection: a port here that is the web server there, the reverse, and SOCKS.
forwards() { # address, own address
	local url n
	ssh -F "$TMP/ssh_config" -N -o ExitOnForwardFailure=yes -L 127.0.0.1:3001:127.0.0.1:8000 \
		-R 3002:127.0.0.1:8001 -D 127.0.0.1:3003 "$1" &
	ssh=$!
	wait_until 20 curl -s -o /dev/null "http://127.0.0.1:3001/1000"
	for n in 1000 100000 4000000; do
		curl -s --max-time 30 "http://127.0.0.1:3001/$n" | cmp - "$TMP/www/$n" && echo "L $n"
		curl -s --max-time 30 --socks5 127.0.0.1:3003 "http://127.0.0.1:8000/$n" | cmp - "$TMP/www/$n" && echo "D $n"
		curl -s --max-time 30 "http://$1:3002/$n" | cmp - "$TMP/www/$n" && echo "R $n"
	done
	seq 20 | xargs -P 6 -I{} curl -s --max-time 20 -o /dev/null -w '%{http_code}\n' http://127.0.0.1:3001/100000 | sort | uniq -c
	kill $ssh
	wait $ssh
	echo "ended $?"
}
export -f commands files forwards wait_until nap
bg b python3 -m http.server --bind 127.0.0.1 --directory "$TMP/www" 8000 >/dev/null 2>&1
bg a python3 -m http.server --bind 127.0.0.1 --directory "$TMP/www" 8001 >/dev/null 2>&1
wait_tcp b 8000
wait_tcp a 8001
for MODE in $MODES; do
	serve 2222 "$(command -v sshd)" -D -e -f "$TMP/sshd_config" || continue
	differ commands4 pa bash -c 'commands "$@"' - "$B4"
	differ commands6 pa bash -c 'commands "$@"' - "$B6"
	differ files pa bash -c 'files "$@"' - "$B4"
	differ forwards pa bash -c 'forwards "$@"' - "$B4"
	# (Without the daemon one process has the device; other programs and children have the kernel's sockets.)
	serve_end
done
done_testing
