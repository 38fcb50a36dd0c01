# SPDX-License-Identifier: BSD-2-Clause
# For the scripts about TCP programs: lib.sh, and the counts of segments of tests/net/lib_tcp.sh.
# shellcheck shell=bash
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
. "$TESTS/net/lib_tcp.sh"

# Starts a server in the background and waits until it listens on the port of b: `serve PORT CMD..`; sets SERVER to
# its PID.
serve() {
	local port=$1
	shift
	bg pb "$@" >"$(said server)" 2>&1
	SERVER=$BG
	bound b 30 tcp "$port" ||
		{ fail "$1 does not listen"; tail -n 5 "$(said server)"; return 1; }
	segs_begin
}
# Ends the server, and prints how many segments b's kernel has seen, without judging them.
serve_end() {
	say "    b's kernel saw $(($(tcp_segs b) - SEGS_B)) segments"
	alive "$SERVER"
	stop "$SERVER"
}

# Writes $TMP/nginx.conf for so many worker processes (0: one process in all); the standard input has the
# rest of its http block.
nginx_conf() { # workers
	{
		cat <<-END
		daemon off;
		$([ "$1" = 0 ] && echo "master_process off;" || echo "worker_processes $1;")
		user root;
		pid $TMP/nginx.pid;
		error_log $TMP/nginx.err;
		events { worker_connections 256; }
		http {
			access_log off;
			sendfile on;
			client_body_temp_path $TMP/n1; proxy_temp_path $TMP/n2; fastcgi_temp_path $TMP/n3;
			uwsgi_temp_path $TMP/n4; scgi_temp_path $TMP/n5;
		END
		cat
		echo "}"
	} >"$TMP/nginx.conf"
}
