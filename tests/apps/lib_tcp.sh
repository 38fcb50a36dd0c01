# SPDX-License-Identifier: BSD-2-Clause
# For the scripts about TCP programs: lib.sh with what tests/net/lib_tcp.sh counts of segments.
# shellcheck shell=bash
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
. "$TESTS/net/lib_tcp.sh"

# A server in the background that listens on a port of b: `serve PORT CMD..`; SERVER is its PID.
serve() {
	local port=$1
	shift
	bg pb "$@" >"$(said server)" 2>&1
	SERVER=$BG
	bound b 30 tcp "$port" ||
		{ fail "$1 does not listen"; tail -n 5 "$(said server)"; return 1; }
	segs_begin
}
# Its end; what b's kernel has seen of it is said and not judged.
serve_end() {
	say "    b's kernel saw $(($(tcp_segs b) - SEGS_B)) segments"
	alive "$SERVER"
	stop "$SERVER"
}

# $TMP/nginx.conf for so many worker processes (0: one process in all); the rest of its http block comes
# from the standard input.
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
