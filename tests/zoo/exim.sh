#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# exim: a process for each SMTP connection; a mail of 200 KB is taken and queued.
. "$(dirname "$0")/lib.sh"
need exim4 python3
net_up
mkdir "$TMP/spool"
chown Debian-exim "$TMP/spool"
cat >"$TMP/conf" <<-END
	primary_hostname = zoo.test
	spool_directory = $TMP/spool
	log_file_path = $TMP/spool/%slog
	local_interfaces = <; $B4
	daemon_smtp_ports = 2525
	acl_smtp_rcpt = accept_all
	acl_smtp_data = accept_all
	queue_only
	rfc1413_query_timeout = 0s
	host_lookup =
	begin acl
	accept_all:
	    accept
END
chmod 644 "$TMP/conf"
server() { bg pb exim4 -bdf -C "$TMP/conf"; }
talk() {
	python3 - "$B4" "$PORT" <<-'END'
		import smtplib, sys
		for i in range(3):
		    s = smtplib.SMTP(sys.argv[1], int(sys.argv[2]), local_hostname="me.test", timeout=20)
		    print(s.sendmail("a@zoo.test", ["b@zoo.test"], "Subject: %d\r\n\r\n" % i + ("x" * 70 + "\r\n") * 3000))
		    s.quit()
	END
}
zoo exim 2525
done_testing
