# SPDX-License-Identifier: BSD-2-Clause
# For CPython's own tests (Debian: libpython3.11-testsuite). Each is client and server in one process. Here
# their names of the local host are replaced by the host's own address, which the host reaches through the
# other one: every segment leaves by the device and comes in again. The tests run
#
#   on a by the kernel's sockets: the oracle
#   on b preloaded
#   on c preloaded and unchanged: by the loopback device, which is the kernel's
#
# all three at a time, since most of these tests wait. Tests whose results differ run again, alone.
# shellcheck shell=bash source=lib_tcp.sh
HERE=$(dirname "${BASH_SOURCE[0]}")
. "$HERE/lib_tcp.sh"
need python3 unshare
LIBTEST=$(python3 -c 'import test.test_socket as t; print(t.__file__.rpartition("/")[0])' 2>/dev/null) ||
	skip "CPython's tests are not here (libpython3.11-testsuite)"
[ -e "$PRELOAD" ] || skip "nothing to preload"

# Has a host reach its own addresses through the other host.
hairpin() { # host, device, the other host, its device
	local fam own via
	"$1" sysctl -qw net.ipv4.conf.all.accept_local=1 net.ipv4.conf.all.rp_filter=0 \
		"net.ipv4.conf.$2.rp_filter=0" net.ipv4.conf.all.accept_redirects=0 \
		"net.ipv6.conf.$2.accept_redirects=0"
	"$3" sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1 \
		net.ipv4.conf.all.send_redirects=0 "net.ipv4.conf.$4.send_redirects=0"
	for fam in 4 6; do
		own=${1^^}$fam via=${3^^}$fam
		"$1" ip -$fam route add "${!own}" via "${!via}" dev "$2" src "${!own}" table 100
		"$1" ip -$fam rule add pref 100 lookup local
		"$1" ip -$fam rule add pref 10 iif lo to "${!own}" lookup 100
		"$1" ip -$fam rule del pref 0
	done
}

# Makes a copy of the tests with a host's addresses in it.
tests_of() { # host
	local v4=${1^^}4 v6=${1^^}6 f dir=$TMP/py.$1
	mkdir -p "$dir/test"
	cp -rs "$LIBTEST/." "$dir/test"
	(cd "$dir/test" && grep -lE "127\.0\.0\.1|[\"']::1[\"']" test_*.py ssl_servers.py support/*.py \
		test_asyncio/*.py) | while read -r f; do
		rm "$dir/test/$f"
		sed "s/127\.0\.0\.1/${!v4}/g; s/\([\"']\)::1\([\"']\)/\1${!v6}\2/g" "$LIBTEST/$f" >"$dir/test/$f"
	done
	printf '%s localhost %s\n' "${!v4}" "$(hostname)" "${!v6}" "$(hostname)" >"$TMP/hosts.$1"
}

cpython_up() {
	net_up -c
	hairpin b "$DEV_B" a "$DEV_A"
	hairpin a "$DEV_A" b "$DEV_B"
	tests_of a
	tests_of b
	cp /etc/hosts "$TMP/hosts.c"
	mkdir -p "$TMP/py.c"
}

# Runs tests on a host: $TMP/out.HOST has a line for each, $TMP/err.HOST the rest of their output.
run_on() { # a, sb or sc; arguments of cpython.py
	local host=${1#s}
	(in_ns "$1" unshare -m sh -c 'mount --bind "$0" /etc/hosts; exec "$@"' "$TMP/hosts.$host" \
		env "PYTHONPATH=$TMP/py.$host" timeout -k 5 150 python3 "$APPS/cpython.py" "${@:2}") \
		>"$TMP/out.$host" 2>"$TMP/err.$host" </dev/null
}
verdict() { sed -n "s/^test\.$1 //p" "$2"; } # test, file

# Compares a host's preloaded run with the kernel's; tests that differ run once more, alone.
as_kernel() { # module, host
	local want=$TMP/want got=$TMP/got id left=
	cp "$TMP/out.a" "$want"
	cp "$TMP/out.$2" "$got"
	cp "$TMP/err.$2" "$TMP/said"
	for id in $(diff "$want" "$got" | sed -n 's/^[<>] test\.\([^ ]*\) .*/\1/p' | sort -u | head -n 10); do
		run_on a "$id"
		run_on "s$2" "$id"
		say "    $id: kernel $(verdict "$id" "$want"), then $(verdict "$id" "$TMP/out.a");" \
			"preloaded $(verdict "$id" "$got"), then $(verdict "$id" "$TMP/out.$2")"
		[ "$(verdict "$id" "$TMP/out.a")" = "$(verdict "$id" "$TMP/out.$2")" ] && continue
		left+=" $id"
		grep -A 30 "^=== test.$id:" "$TMP/said" "$TMP/err.$2" | head -n 40
	done
	same "$1: as on the kernel: $(sed 's/.* //' "$want" | sort | uniq -c | xargs)" "" "$left"
}

# Runs one test module: `cpython NAME [-x PART..]`.
cpython() {
	local on_a on_c
	run_on a "$@" &
	on_a=$!
	run_on sc "$@" &
	on_c=$!
	MODE=device
	run_on sb "$@" && ok "$1: some pass" grep -q ' ok$' "$TMP/out.b" ||
		{ fail "$1 ends"; tail -n 30 "$TMP/err.b"; }
	wait $on_a || { MODE=kernel fail "$1 ends"; tail -n 30 "$TMP/err.a"; }
	wait $on_c || { MODE=loopback fail "$1 ends"; tail -n 30 "$TMP/err.c"; }
	cp "$TMP/out.a" "$TMP/all"
	as_kernel "$1" b
	MODE=loopback
	cp "$TMP/all" "$TMP/out.a"
	as_kernel "$1" c
	cp "$TMP/all" "$TMP/out.a"
}
cpython_begin() { SEGS_A=$(tcp_segs a) SEGS_B=$(tcp_segs b); }
cpython_end() { # percent of the segments that b's kernel may have seen: refused connections, forked children
	local in_a in_b
	in_a=$(($(tcp_segs a) - SEGS_A)) in_b=$(($(tcp_segs b) - SEGS_B))
	MODE=device
	ok "b's kernel saw $in_b segments, a's $in_a" test $((in_b * 100)) -le $((in_a * $1))
}
