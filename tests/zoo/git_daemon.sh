#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# git daemon, which runs a program on each connection: clones, shallow ones, a push, four clones at once.
. "$(dirname "$0")/lib.sh"
need git
git --exec-path >/dev/null && [ -x "$(git --exec-path)/git-daemon" ] || skip "git daemon is not here"
net_up
chmod 755 "$TMP"
export HOME=$TMP
git config --global safe.directory '*'
git config --global user.email a@b
git config --global user.name a
git config --global init.defaultBranch main
mkdir "$TMP/repos"
git init -q "$TMP/work"
for i in $(seq 30); do head -c 100000 /dev/urandom >"$TMP/work/f$i"; done
for i in 1 2 3; do
	echo "$i" >>"$TMP/work/log"
	git -C "$TMP/work" add .
	git -C "$TMP/work" commit -qm "$i"
done
git clone -q --bare "$TMP/work" "$TMP/repos/read.git"
server() {
	rm -rf "$TMP/repos/push.git"
	git clone -q --bare "$TMP/work" "$TMP/repos/push.git"
	chmod -R a+rwX "$TMP"
	bg pb git daemon --reuseaddr --listen="$B4" --port=9418 --base-path="$TMP/repos" --enable=receive-pack --export-all
}
talk() {
	local i
	rm -rf "$TMP/out" && mkdir "$TMP/out" && cd "$TMP/out" || return
	git ls-remote "git://$B4/read.git"
	git clone -q "git://$B4/read.git" whole
	echo "clone: $?"
	git -C whole log --format=%H
	cat whole/f* | md5sum
	git clone -q --depth 1 "git://$B4/read.git" shallow
	git -C shallow log --oneline | wc -l
	git -C shallow fetch -q --unshallow
	git -C shallow log --oneline | wc -l
	git clone -q "git://$B4/push.git" pushes
	head -c 3000000 /dev/urandom >pushes/big
	git -C pushes checkout -q -B new
	git -C pushes add big
	git -C pushes commit -qm big
	git -C pushes push -q origin new
	echo "push: $?"
	git -C pushes fetch -q
	[ "$(git -C pushes rev-parse origin/new)" = "$(git -C pushes rev-parse new)" ] && echo "pushed as it was"
	git clone -q "git://$B4/none.git" none 2>/dev/null
	echo "no such repository: $?"
	for i in 1 2 3 4; do git clone -q "git://$B4/read.git" "at-once$i" & done
	wait
	cat at-once*/f* | wc -c
}
zoo git_daemon 9418
done_testing
