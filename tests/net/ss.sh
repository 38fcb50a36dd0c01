#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# sluice ss prints for offloaded sockets what ss prints for the same ones on the kernel, and each socket once; its
# filters choose what ss's do. sluice flow kill ends offloaded sockets as ss -K ends the kernel's. By both brokers.
. "$(dirname "$0")/lib_tcp.sh"
need_built
need python3 ss
PY=$TESTS/net/ss.py
export SL=$BUILD/sluice
sluice_ss() { b "$SL" ss --directory "$TMP" "$@"; }
flow() { b "$SL" flow -k "$TMP" "$@" >>"$TMP/flow" 2>&1; }
# plain PORT: stdin sorted, with one space between columns, without cgroup, cookie, inode, user and pid, and with the
# ports of the first run.
plain() {
	sed -E "s/via:sluice//; s/cgroup:[^ ]*//; s/(sk|ino|lane|uid|pid)[:=][0-9a-f]+//g; s/Port *Process/Port Process/
		s/:$(($1 / 100))([0-9]{2})\b/:77\1/g; s/[[:space:]]+/ /g; s/ $//" | sort
}
# Compared: options and filters, in the words of ss; PORT is the first port of the run.
ASKED=(
	"-tuan" "-tan" "-uan" "-ltn" "-lun" "-tn" "-tun" "-tuanp" "-tuan4" "-uan6" "-Htuane" "-tuanO"
	"-tan state established" "-tan state all exclude listening" "-tan state connected exclude time-wait"
	"-tan state syn-sent" "-tan sport = :PORT" "-tan ( sport = :PORT or dport = :PORT )"
	"-tuan dst 0.0.0.0/0" "-tuan src PEER" "-tuan dst PEER" "-tuan dst PEER:PEERPORT" "-uan not dst PEER"
	"-tan sport != :PORT" "-tuan sport gt :PORT and sport lt :LAST" "-tuan sport >= :PORT or dport = :LAST and dst PEER"
	"-uan src [OWN6]" "-tuan src 10/8" "-tuan src *:PORT" "-uan dport eq :LAST"
)
ask() { # command, what, first port: in the words of this run
	local words=${2//PEERPORT/$(($3 + 11))}
	words=${words//LAST/$(($3 + 3))} words=${words//PORT/$3} words=${words//PEER/$A4} words=${words//OWN6/$B6}
	set -f
	# shellcheck disable=SC2086
	"$1" $words 2>&1 | plain "$3"
	set +f
}
by_kernel() { b ss "$@"; }
said() { [ "$(sluice_ss -Htuan | grep -c via:sluice)" = "$1" ]; }
left() { sluice_ss -Htan state established sport = ":$PORT" | wc -l; }
begin() { # MODE
	MODE=$1
	bg pb python3 "$PY" serve "$B4" "$B6" "$A4" $PORT >"$TMP/b" 2>&1
	SUBJECT=$BG
	wait_line "$TMP/b" listens
	wait_tcp b $PORT
	bg a python3 "$PY" peer "$A4" "$B4" $PORT >"$TMP/a" 2>&1
	OTHER=$BG
	wait_line "$TMP/a" ready
	wait_line "$TMP/b" ready
}
finish() { # WHAT: how they ended
	wait_line "$TMP/a" peer
	cat "$TMP/a" "$TMP/b" | grep -v -e ready -e listens >"$TMP/ended.$1"
	stop "$SUBJECT" "$OTHER"
}

run() {
	local i what n=7
	PORT=7700
	begin kernel
	for i in "${!ASKED[@]}"; do ask by_kernel "${ASKED[i]}" $PORT >"$TMP/kernel.$i"; done
	for i in "${!ASKED[@]}"; do
		same "the kernel's sockets: ${ASKED[i]}" "$(cat "$TMP/kernel.$i")" "$(ask sluice_ss "${ASKED[i]}" $PORT)"
	done
	# This kernel may not be able to end sockets.
	b ss -tK "dst = $A4:$((PORT + 11))" >/dev/null 2>&1
	wait_line "$TMP/b" connection
	b ss -uaK "sport = :$((PORT + 1))" >/dev/null 2>&1
	wait_line "$TMP/b" datagrams
	b ss -tK state listening "sport = :$PORT" >/dev/null 2>&1
	wait_line "$TMP/b" listener
	finish kernel

	PORT=8700
	begin one
	ok "all are Sluice's" wait_until 20 said $n
	for i in "${!ASKED[@]}"; do
		what=$(cat "$TMP/kernel.$i")
		[ "$i" -gt 0 ] || wait_until 5 alike 0 # (counters are written once a second)
		same "offloaded: ${ASKED[i]}" "$what" "$(ask sluice_ss "${ASKED[i]}" $PORT)"
	done
	same "only ours" $n "$(sluice_ss --sluice -Htuan | wc -l)"
	same "top lists them" $n "$(b "$SL" top -b -n 1 -k "$TMP" | grep -cE ":$((PORT / 100))[0-9]{2} ")"
	ok "top ends by q, and orders by a key" screen
	ok "top takes parts of a second" seconds
	ok "a wrong filter is refused" not sluice_ss "sport ="  2>/dev/null
	ok "what TCP has measured" file_says "cwnd:" sluice_ss -Htni dst "$A4"
	ok "memory" file_says "skmem:(r" sluice_ss -Huanm src "$B4"
	ok "a connection is killed" flow kill -p "$SUBJECT" dst "$A4:$((PORT + 11))"
	wait_line "$TMP/b" connection
	ok "a datagram socket is killed" flow kill -p "$SUBJECT" -l "$B4:$((PORT + 1))"
	wait_line "$TMP/b" datagrams
	ok "a listener is killed" flow kill -p "$SUBJECT" state listening sport = ":$PORT"
	wait_line "$TMP/b" listener
	ok "nothing is there to be killed" not flow kill -p "$SUBJECT" sport = :1
	same "the other connection lives" 1 "$(left)"
	finish one
	same "they end as on the kernel" "$(cat "$TMP/ended.kernel")" "$(cat "$TMP/ended.one")"
}
seconds() { # of sluice top: right ones, then wrong ones
	local d
	for d in 1 0.2 86400; do
		b timeout 20 "$SL" top -b -n 1 -d "$d" -k "$TMP" >/dev/null || return
	done
	for d in 0 0.001 -1 1. 1.2345 x 0,5 1.x; do
		not b "$SL" top -b -n 1 -d "$d" -k "$TMP" 2>/dev/null || return
	done
}
screen() { # of sluice top, on a terminal
	b python3 - "$SL" top -d 60 -k "$TMP" <<-'END'
		import os, pty, sys
		pid, tty = pty.fork()
		if not pid:
		    os.execv(sys.argv[1], sys.argv[1:])
		got = b""
		def until(text):
		    global got
		    while text not in got:
		        got += os.read(tty, 4096)
		until(b"by rate")
		os.write(tty, b">")
		until(b"by packets")
		os.write(tty, b"h")
		until(b"this text")
		got = b""
		os.write(tty, b"R")
		until(b"by packets")
		os.write(tty, b"q")
		sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
	END
}
alike() { [ "$(cat "$TMP/kernel.$1")" = "$(ask sluice_ss "${ASKED[$1]}" $PORT)" ]; }
file_says() { "${@:2}" | grep -q -e "$1"; } # what, command...

for LEASED in '' 1; do
	# (Filters and options are the tool's, whichever broker a program has: the second one shows who has which socket.)
	[ -z "$LEASED" ] || ASKED=("-tuan" "-ltn" "-tuanp" "-tan state established" "-tan sport = :PORT")
	net_up
	SL_ENV=("SLUICE_STATS_SHMEM_DIR=$TMP")
	run
	[ -n "$LEASED" ] || { net_down; rm -rf "$TMP"; }
done
done_testing
