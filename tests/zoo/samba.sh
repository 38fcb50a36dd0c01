#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# smbd, with a process for each client: files up and down by SMB 3 and SMB 1, and four clients at once.
. "$(dirname "$0")/lib.sh"
need smbd smbclient
[ -z "${LEASED:-}" ] || skip "smbd runs as root alone"
net_up
mkdir "$TMP/files"
head -c 20000000 /dev/urandom >"$TMP/big"
for i in 1 2 3 4 5; do head -c "10000$i" /dev/urandom >"$TMP/f$i"; done
cat >"$TMP/smb.conf" <<-END
	[global]
	interfaces = $B4/24
	bind interfaces only = yes
	map to guest = Bad User
	guest account = nobody
	smb ports = 445
	private dir = $TMP/state
	lock directory = $TMP/state
	state directory = $TMP/state
	cache directory = $TMP/state
	pid directory = $TMP/state
	ncalrpc dir = $TMP/state/rpc
	load printers = no
	printing = bsd
	disable spoolss = yes
	server min protocol = NT1
	[files]
	path = $TMP/files
	guest ok = yes
	read only = no
END
server() {
	rm -rf "$TMP/files" "$TMP/state"
	mkdir "$TMP/files" "$TMP/state"
	chmod -R a+rwX "$TMP"
	bg pb smbd -F -s "$TMP/smb.conf" --debug-stdout
}
talk() {
	local i
	smb() { timeout 60 smbclient -s /dev/null -N -p "$PORT" "//$B4/files" "$@" 2>/dev/null; }
	rm -rf "$TMP/out" && mkdir "$TMP/out" && cd "$TMP/out" || return
	smb -c "put ../big big; get big got; lcd ..; prompt; mput f1 f2 f3 f4 f5; ls" | awk '/^  f/ { print $1, $3 }' | sort
	cmp got ../big && echo same
	smb -m NT1 -c "get big old; rm big"
	cmp old ../big && echo "same by SMB 1"
	smb -c "get big gone"
	echo "no such file: $?"
	for i in 1 2 3 4; do
		(
			smb -c "put ../big big$i; get big$i at-once$i"
			cmp "at-once$i" ../big && echo same
		) &
	done
	wait
}
zoo samba 445
done_testing
