#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Workers of one listener are killed (kill -9) while connections wait for them: other workers accept these with all the
# data that they have sent, as in the kernel, with the daemon, too. Only connections that were accepted are reset.
LEASED=1
. "$(dirname "$0")/lib_tcp.sh"
need python3 setpriv
net_up
need_built
export TMP
PY=$TESTS/net/tcp_killed.py
PORT=7400
as_root() { # of the daemon's programs, too
	LEASED=
	SL_ENV=("SLUICE_DAEMON=$TMP/sluiced.b")
	bg "$@"
	LEASED=1
	SL_ENV=()
}
syn_repeats() { # by host a
	a awk '$1 == "TcpExt:" && !n { for (i = 2; i <= NF; i++) if ($i == "TCPSynRetrans") n = i; next }
		$1 == "TcpExt:" { print $n }' /proc/net/netstat
}
for MODE in kernel one; do
	meet
	for how in ${HOW-6 mapped low}; do
		PORT=$((PORT + 1))
		fam=${how/[a-z]*/4}
		own=B$fam
		at=${!own} port=$PORT run=bg
		[ $how != mapped ] || at=::
		[ $how != low ] || port=81 run=as_root
		$run pb python3 "$PY" queue "$at" $port 0
		wait_tcp b $port
		differ "queue$how" a timeout 60 python3 "$PY" wait "${!own}" $port "$BG"
		say "$(cat "$TMP/differ.err")"
		stop "$BG"
	done
	PORT=$((PORT + 1))
	bg pb python3 "$PY" queue "$B4" $PORT 30
	wait_tcp b $PORT
	differ shake a timeout 60 python3 "$PY" shake "$B4" $PORT "$BG" "${NS}b" "$DEV_B"
	stop "$BG"
	for fam in ${FAM-4}; do
		own=B$fam
		PORT=$((PORT + 1))
		mkdir -m 777 "$TMP/storm.$MODE$fam"
		bg pb python3 "$PY" storm "${!own}" $PORT "$TMP/storm.$MODE$fam"
		wait_tcp b $PORT
		repeated=$(syn_repeats)
		differ storm a timeout 100 python3 "$PY" clients "${!own}" $PORT "$TMP/storm.$MODE$fam" "${KILL_SECONDS:-2}"
		say "$(cat "$TMP/differ.err")"
		stop "$BG"
		# A SYN that came for the dead process goes to another at once, without having to be repeated.
		repeated=$(($(syn_repeats) - repeated)) count=$(cut -d' ' -f1 "$TMP/differ.err")
		say "$repeated repeated SYNs"
		[ "$MODE" != kernel ] || KERNEL_COUNT=$count
		ok "[$MODE] SYNs are not repeated ($repeated)" test "$repeated" -le 5
		ok "[$MODE] as many connections, or so ($count of $KERNEL_COUNT)" test $((count * 10)) -ge "$KERNEL_COUNT"
	done
done
done_testing
