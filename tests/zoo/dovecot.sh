#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# dovecot: processes of several users that pass connections on, IMAP and POP3.
. "$(dirname "$0")/lib.sh"
need dovecot curl
net_up
mkdir -p "$TMP/dove" "$TMP/mail"
for i in $(seq 30); do printf 'From: a@zoo\nTo: b@zoo\nSubject: mail %d\nDate: Sat, 28 Nov 2026 10:00:00 +0000\n\nbody %d\n%s\n' "$i" "$i" "$(head -c 2000 /dev/zero | tr '\0' x)"; done >/dev/null
chmod 777 "$TMP/mail"
cat >"$TMP/conf" <<-END
	base_dir = $TMP/dove
	state_dir = $TMP/dove
	protocols = imap pop3
	listen = $B4
	ssl = no
	disable_plaintext_auth = no
	log_path = $TMP/dove.log
	default_internal_user = dovecot
	default_login_user = dovenull
	mail_location = maildir:$TMP/mail/%u
	first_valid_uid = 1
	passdb {
	    driver = static
	    args = password=secret
	}
	userdb {
	    driver = static
	    args = uid=nobody gid=nogroup home=$TMP/mail
	}
	service imap-login {
	    inet_listener imap {
	        port = 1143
	    }
	}
	service pop3-login {
	    inet_listener pop3 {
	        port = 1110
	    }
	}
END
server() { rm -rf "$TMP/mail/"*; bg pb dovecot -F -c "$TMP/conf"; }
talk() {
	local i
	for i in 1 2 3 4 5; do
		printf 'From: a@zoo\r\nSubject: mail %d\r\n\r\nbody %d\r\n%s\r\n' "$i" "$i" "$(head -c 60000 /dev/zero | tr '\0' x | fold -w 70)" >"$TMP/m.$i"
		curl -s --max-time 20 -u "bob:secret" -T "$TMP/m.$i" "imap://$B4:$PORT/INBOX" >/dev/null && echo "stored $i"
	done
	for i in 1 3 5; do curl -s --max-time 20 -u bob:secret "imap://$B4:$PORT/INBOX;MAILINDEX=$i" | md5sum; done
	curl -s --max-time 20 -u bob:secret "imap://$B4:$PORT/" | tr -d '\r'
	curl -s --max-time 20 -u bob:secret "pop3://$B4:1110/" | tr -d '\r'
	curl -s --max-time 20 -u bob:secret "pop3://$B4:1110/2" | md5sum
	curl -s --max-time 20 -u bob:wrong "imap://$B4:$PORT/" || echo "refused $?"
}
zoo dovecot 1143
done_testing
