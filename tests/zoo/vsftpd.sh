#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# vsftpd: a process for each session, passive and active data connections.
. "$(dirname "$0")/lib.sh"
need vsftpd curl
net_up
mkdir -p "$TMP/ftp/in" /run/vsftpd/empty
for n in 1 1000 100000 3000000; do head -c "$n" /dev/urandom >"$TMP/ftp/$n"; done
chmod 755 "$TMP/ftp"
chmod 777 "$TMP/ftp/in"
cat >"$TMP/conf" <<-END
	listen=YES
	listen_address=$B4
	listen_port=2121
	anonymous_enable=YES
	anon_root=$TMP/ftp
	no_anon_password=YES
	write_enable=YES
	anon_upload_enable=YES
	anon_umask=022
	background=NO
	port_enable=YES
	connect_from_port_20=NO
	secure_chroot_dir=/run/vsftpd/empty
	xferlog_enable=NO
	run_as_launching_user=NO
END
server() { rm -f "$TMP"/ftp/in/*; bg pb vsftpd "$TMP/conf"; }
talk() {
	local n
	for n in 1 1000 100000 3000000; do
		curl -s --max-time 20 "ftp://$B4:$PORT/$n" | cmp - "$TMP/ftp/$n" && echo "$n same"
		curl -s --max-time 20 -P - "ftp://$B4:$PORT/$n" | cmp - "$TMP/ftp/$n" && echo "$n same, active"
	done
	curl -s --max-time 20 -T "$TMP/ftp/3000000" "ftp://$B4:$PORT/in/up" && cmp "$TMP/ftp/3000000" "$TMP/ftp/in/up" && echo uploaded
	curl -s --max-time 20 -l "ftp://$B4:$PORT/" | sort
}
zoo vsftpd 2121
done_testing
