#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# git: clone, fetch and push over its own protocol (git daemon forks a child for each connection), over HTTP
# (git-http-backend behind a small server of Python's) and over ssh.
. "$(dirname "$0")/lib_tcp.sh"
need git python3
[ -x "$(git --exec-path)/git-http-backend" ] || skip "git-http-backend is not here"
net_up
export GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=$TMP/gitconfig HOME=$TMP GIT_TERMINAL_PROMPT=0
cat >"$TMP/gitconfig" <<'END'
[user]
	name = Somebody
	email = somebody@example.org
[safe]
	directory = *
[init]
	defaultBranch = main
[http]
	receivepack = true
[daemon]
	receivepack = true
[protocol "file"]
	allow = always
END
make_repo() {
	local i
	rm -rf "$TMP/r" "$TMP/work"
	git init -q "$TMP/work"
	for i in 1 2 3; do
		head -c 300000 /dev/urandom >"$TMP/work/big$i"
		seq $((i * 10000)) >"$TMP/work/text$i"
		git -C "$TMP/work" add -A
		git -C "$TMP/work" commit -q -m "commit $i"
	done
	mkdir "$TMP/r"
	git clone -q --bare "$TMP/work" "$TMP/r/repo.git"
	git -C "$TMP/r/repo.git" config http.receivepack true
	touch "$TMP/r/repo.git/git-daemon-export-ok"
}
cat >"$TMP/gitweb.py" <<'PY'
import http.server, os, subprocess, sys
root = sys.argv[2]
backend = os.path.join(subprocess.check_output(["git", "--exec-path"], text=True).strip(), "git-http-backend")

class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def body(self):
        if "chunked" in self.headers.get("Transfer-Encoding", ""):
            data = b""
            while n := int(self.rfile.readline(), 16):
                data += self.rfile.read(n)
                self.rfile.readline()
            self.rfile.readline()
            return data
        return self.rfile.read(int(self.headers.get("Content-Length", 0)))

    def do_GET(self):
        path, _, query = self.path.partition("?")
        data = self.body()
        env = dict(os.environ, GIT_PROJECT_ROOT=root, GIT_HTTP_EXPORT_ALL="1", PATH_INFO=path, QUERY_STRING=query,
                   REQUEST_METHOD=self.command, CONTENT_LENGTH=str(len(data)), REMOTE_ADDR=self.client_address[0],
                   CONTENT_TYPE=self.headers.get("Content-Type", ""),
                   HTTP_CONTENT_ENCODING=self.headers.get("Content-Encoding", ""),
                   GIT_PROTOCOL=self.headers.get("Git-Protocol", ""))
        out = subprocess.run([backend], input=data, env=env, stdout=subprocess.PIPE).stdout
        head, _, rest = out.partition(b"\r\n\r\n")
        fields = [line.split(": ", 1) for line in head.decode().split("\r\n")]
        self.send_response(int(dict(fields).get("Status", "200").split()[0]))
        for k, v in fields:
            if k != "Status":
                self.send_header(k, v)
        self.send_header("Content-Length", str(len(rest)))
        self.end_headers()
        self.wfile.write(rest)

    do_POST = do_GET

http.server.ThreadingHTTPServer((sys.argv[1], 8000), Handler).serve_forever()
PY
words() { # url
	rm -rf "$TMP/copy" "$TMP/second"
	git ls-remote "$1"
	git clone -q "$1" "$TMP/copy" || return
	git -C "$TMP/copy" fsck --strict 2>&1 | grep -v '^Checking'
	head -c 500000 "$TMP/seed" >"$TMP/copy/new"
	git -C "$TMP/copy" add -A
	git -C "$TMP/copy" commit -q -m more --date '2026-01-01 00:00:00 +0000'
	git -C "$TMP/copy" push -q origin main:pushed || return
	git clone -q -b pushed "$1" "$TMP/second" || return
	cmp "$TMP/copy/new" "$TMP/second/new" && echo pushed
	git -C "$TMP/second" push -q origin :pushed && git -C "$TMP/copy" fetch -q --prune && git -C "$TMP/copy" branch -r
	git clone -q "$1-not" "$TMP/none" 2>/dev/null
	echo "of none: $?"
}
export -f words
export TMP GIT_COMMITTER_DATE='2026-01-01 00:00:00 +0000' GIT_AUTHOR_DATE='2026-01-01 00:00:00 +0000'
head -c 500000 /dev/urandom >"$TMP/seed"
make_repo
with_ssh() {
	command -v sshd >/dev/null && mkdir -p /run/sshd && ssh-keygen -q -t ed25519 -N '' -f "$TMP/key" || return 1
	printf '%s\n' "HostKey $TMP/key" "AuthorizedKeysFile $TMP/key.pub" "PermitRootLogin yes" "StrictModes no" \
		"UsePAM no" "PidFile none" "SetEnv HOME=$TMP" "ListenAddress $B4" "Port 2222" >"$TMP/sshd_config"
	export GIT_SSH_COMMAND="ssh -p 2222 -i $TMP/key -o IdentitiesOnly=yes -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR"
}
with_ssh && SSH=1 || say "sshd is not here"
for MODE in $MODES; do
	segs=$(tcp_segs b)
	serve 9418 git daemon --reuseaddr --base-path="$TMP/r" --listen="$B4" --listen="$B6" "$TMP/r" && {
		differ daemon4 pa bash -c 'words "$@"' - "git://$B4/repo.git"
		differ daemon6 pa bash -c 'words "$@"' - "git://[$B6]/repo.git"
		alive "$SERVER"
	}
	stop "$SERVER"
	serve 8000 python3 "$TMP/gitweb.py" "$B4" "$TMP/r" && differ http pa bash -c 'words "$@"' - "http://$B4:8000/repo.git"
	stop "$SERVER"
	[ -n "${SSH:-}" ] && {
		serve 2222 "$(command -v sshd)" -D -e -f "$TMP/sshd_config" &&
			differ ssh pa bash -c 'words "$@"' - "ssh://root@$B4$TMP/r/repo.git"
		stop "$SERVER"
	}
	say "    b's kernel saw $(($(tcp_segs b) - segs)) segments"
done
done_testing
